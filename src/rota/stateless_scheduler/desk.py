"""What the REST routes ask of a scheduler: is it well, whose is a token, may an agent join."""

from __future__ import annotations

from collections.abc import Sequence

from litestar.types import ASGIApp

from rota.api.people import Role
from rota.backends.backend import Health
from rota.server.agents import AgentCalls
from rota.server.http.app import make_app
from rota.server.http.desks import Desks, Invitations
from rota.server.http.limits import Limits
from rota.server.routes import agents, service
from rota.stateless_scheduler.core import Scheduler
from rota.stateless_scheduler.enrolment import SchedulerEnrolment
from rota.stateless_scheduler.tokens import Tokens
from rota.store.writing.batch import Answer, Project, Token

_PATHS = frozenset(("/healthz", "/readyz", "/metrics"))
LIMITS = Limits(connections=20_000, requests_per_second=20_000, burst=40_000)
"""For many agents, all behind one address at times."""


class SchedulerDesk:
    """Whether a scheduler is well, and whose a token is."""

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

    async def answer(self, scope: str, key: str) -> Answer | None:
        """None is kept: an invitation that is asked for again is another one."""
        return None

    async def token_named(self, secret_sha256: str) -> Token | None:
        """Controllers may look at the metrics, operators may also invite agents."""
        name = self._tokens.named(secret_sha256)
        if name is None:
            return None
        role = Role.OPERATOR if self._tokens.is_operator(name) else Role.VIEWER
        return Token(name, secret_sha256, name, role, None, 0)

    async def token_with_id(self, token_id: str) -> Token | None:
        """None: tokens of a scheduler aren't made with others, and no stream asks for them again."""
        return None

    @property
    def rights_version(self) -> int:
        """Its file of tokens is read once."""
        return 0


def scheduler_app(
    scheduler: Scheduler, tokens: Tokens, enrolment: SchedulerEnrolment | None = None
) -> ASGIApp:
    """With the routes by which agents fetch files and leave results; with an authority, also those by which
    they join."""
    routes = [route for route in service.ROUTES if route.path in _PATHS]
    desk = SchedulerDesk(scheduler, tokens)
    return make_app(
        Desks(desk, desk, desk.answer, {} if enrolment is None else {Invitations: enrolment}),
        LIMITS,
        scheduler.metrics,
        agents=AgentCalls(scheduler.backend, scheduler.files),
        routes=(*routes, *agents.ROUTES),
    )
