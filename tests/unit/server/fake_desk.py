"""The application over a fake desk: routes are tested without a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

from rota.api.people import Role
from rota.control.enrolment import Enrolment
from rota.loop.desk.secrets import SecretsDesk
from rota.server.http.app import make_app
from rota.server.http.desks import Desks, Invitations
from rota.server.http.limits import DEFAULT_LIMITS, Limits
from rota.server.identity.minting import Mint
from rota.server.routes import ROUTES
from tests.unit.server.fake_jobs import FakeJobs
from tests.unit.server.fake_operators import FakeAgents, FakeOperators
from tests.unit.server.fake_state import NOW_MS, secret_of


class FakeDesk(FakeJobs, FakeOperators):
    """All desks in one."""

    def __init__(self) -> None:
        super().__init__()
        self.enrolment = FakeAgents(self)


def as_desks(fake: Any, limits: Limits = DEFAULT_LIMITS) -> Desks:
    """The fake as every desk that a route names."""
    there = {kind: fake for route in ROUTES for kind in route.desks}
    agents = _Part(fake, "enrolment")
    there |= {SecretsDesk: _Part(fake, "secrets"), Enrolment: agents, Invitations: agents}
    return Desks(fake, fake, lambda *key: fake.answer(*key), {**there, Mint: Mint(fake, limits)})


class _Part:
    """A part of the fake as it is when it is asked."""

    def __init__(self, fake: Any, name: str) -> None:
        self._fake, self._name = fake, name

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._fake, self._name), name)


class _Current:
    """Stands for the desk of the test that runs: making an application takes longer than asking it."""

    def __init__(self) -> None:
        self.desk = FakeDesk()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.desk, name)


_current = _Current()
_LIMITS = Limits(burst=10**9)
_app = make_app(as_desks(_current, _LIMITS), _LIMITS, now_ms=lambda: NOW_MS)


class Service:
    """The application over a fake desk, asked by whoever has a role, and by nobody."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.desk = _current.desk = FakeDesk()
        self.app = (
            _app if limits is None else make_app(as_desks(self.desk, limits), limits, now_ms=lambda: NOW_MS)
        )

    def ask(
        self,
        method: str,
        path: str,
        role: Role | str | None = Role.ADMIN,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        sent = {} if role is None else {"authorization": f"Bearer {secret_of(role)}"}
        return asyncio.run(self._ask(method, path, {**sent, **(headers or {})}, more))

    async def _ask(self, method: str, path: str, headers: dict[str, str], more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers=headers, **more)
