"""What an application works with: desks by their class, and what it needs whatever its routes are.

A route names its desks as parameters of its function. Where one of them isn't here, the route isn't served.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from rota.backends.backend import Health
from rota.control.access import Who
from rota.control.enrolment import Enrolment
from rota.loop.desk.answers import AnswerOf
from rota.loop.desk.desks import LiveDesks
from rota.store.writing.batch import AgentNode, Answer, JoinToken, Project, Token
from rota.trust.enrol import Admission


class Credentials(Protocol):
    """Whom a token stands for, and in which projects its user is a member."""

    @property
    def rights_version(self) -> int:
        """Counts up whenever somebody may have lost a right."""

    async def token_named(self, secret_sha256: str) -> Token | None: ...
    async def token_with_id(self, token_id: str) -> Token | None: ...
    async def projects(self) -> Sequence[Project]: ...


class Readiness(Protocol):
    @property
    def is_ready(self) -> bool: ...

    async def health(self) -> Sequence[tuple[str, Health]]:
        """Of the store and of each backend, by name."""


class Invitations(Protocol):
    """Who may join as an agent: of a server, or of a scheduler that keeps nothing."""

    async def invite(
        self,
        name: str,
        node: AgentNode,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[JoinToken] = None,
    ) -> tuple[JoinToken, str]:
        """The invitation, and its text, which is shown once. An empty name: the agent chooses one."""

    async def join(self, token_id: str, name: str, request: str, proof: str) -> Admission: ...

    async def renew(self, header: str | None, body: bytes, request: str) -> Admission: ...

    async def revoke(self, name: str, who: Who, dry_run: bool = False) -> None: ...


@dataclass(frozen=True)
class Desks:
    credentials: Credentials
    readiness: Readiness
    answer: Callable[[str, str], Awaitable[Answer | None]]
    """Kept for the idempotency key of an earlier request, by its scope and the key."""
    by_class: Mapping[Any, object]
    """Desks by the class, or the protocol, that routes name."""


def desks_of(live: LiveDesks, *others: object) -> Desks:
    """`others`: what routes name besides the desks of a live cluster."""
    there: dict[Any, object] = {type(desk): desk for one in fields(live) if (desk := getattr(live, one.name))}
    there |= {type(one): one for one in others}
    if live.agents is not None:
        there |= {Enrolment: live.agents, Invitations: live.agents}
    return Desks(live.people, live.status, live.answers.answer, there)
