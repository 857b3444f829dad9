"""What the REST routes ask of a scheduler: is it well, whose is a token. It has nothing else to answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from litestar.types import ASGIApp

from rota.api.documents import Role
from rota.backends.backend import Health
from rota.scheduler.core import Scheduler
from rota.scheduler.tokens import Tokens
from rota.server.agents import AgentCalls
from rota.server.app import make_app
from rota.server.desk import Desk
from rota.server.limits import Limits
from rota.server.routes import service
from rota.store.batch import Project, Token

_PATHS = frozenset(("/healthz", "/readyz", "/metrics"))
LIMITS = Limits(connections=20_000, requests_per_second=20_000, burst=40_000)
"""For many agents, all behind one address at times."""


class SchedulerDesk:
    """As much of `Desk` as these routes need."""

    def __init__(self, scheduler: Scheduler, tokens: Tokens) -> None:
        self._scheduler = scheduler
        self._tokens = tokens

    @property
    def is_ready(self) -> bool:
        return not self._scheduler.failed.is_set()

    async def health(self) -> Sequence[tuple[str, Health]]:
        return [("agents", await self._scheduler.backend.health())]

    async def projects(self) -> Sequence[Project]:
        return ()

    async def token_named(self, secret_sha256: str) -> Token | None:
        """Controllers may look at the metrics."""
        name = self._tokens.named(secret_sha256)
        return None if name is None else Token(name, secret_sha256, name, Role.VIEWER, None, 0)


def scheduler_app(scheduler: Scheduler, tokens: Tokens) -> ASGIApp:
    """With the routes by which agents fetch files and leave results."""
    return make_app(
        cast(Desk, SchedulerDesk(scheduler, tokens)),
        LIMITS,
        scheduler.metrics,
        agents=AgentCalls(scheduler.backend, scheduler.files),
        routes=[route for route in service.ROUTES if route.path in _PATHS],
    )
