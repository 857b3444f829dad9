"""Who asks, and what they may do: bearer tokens, roles, projects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus

from rota.api.people import Role
from rota.control.access import Who
from rota.control.origin import about, called_with
from rota.control.tokens import MOST_GENERATIONS, is_expired
from rota.server.http.desks import Credentials
from rota.server.http.problems import NOT_YOURS, ProblemError, forbidden, not_found
from rota.store.writing.batch import Project, Token

_MAX_HEADER = 200
_RANKS = {role: rank for rank, role in enumerate(Role)}
Line = Sequence[Token]
"""A token, the one that it was made with, and so on up to the first. None may do more than those after it."""


def secret_hash(secret: str) -> str:
    """The only part of a secret that is stored. A secret has 256 random bits, so a fast hash is safe."""
    return sha256(secret.encode()).hexdigest()


def session_hash(secret: str) -> str:
    """Other than that of a token: what is good as a cookie is none in a header, and the other way round."""
    return secret_hash(f"session {secret}")


class Access:
    """Finds the user of a request, and notes when each token was last used."""

    def __init__(self, credentials: Credentials, began_ms: int = 0) -> None:
        self._credentials = credentials
        self._began_ms = began_ms
        self.last_used_ms: dict[str, int] = {}
        """By the token's id, since the server started."""

    async def line_of(self, authorization: str | None, now_ms: int) -> Line:
        """Of the token that is shown; all of it is valid."""
        if not authorization:
            raise unauthorised("no token was sent")
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer" or not secret.isascii() or len(secret) > _MAX_HEADER:
            raise unauthorised("the Authorization header isn't of the form Bearer SECRET")
        line = await self._line_with(secret_hash(secret), now_ms, "token")
        if line[0].browser:
            raise unauthorised("the token is unknown, or was removed")
        self.last_used_ms[line[0].id] = now_ms
        return line

    async def line_of_session(self, secret: str, now_ms: int, idle_ms: int) -> Line:
        """Of the session of a browser; ended if it wasn't used for so long."""
        line = await self._line_with(session_hash(secret), now_ms, "session")
        session = line[0]
        # What was used before this server began isn't known here: it counts as used then.
        used_ms = max(session.created_ms, self._began_ms, self.last_used_ms.get(session.id, 0))
        if not session.browser or used_ms + idle_ms <= now_ms:
            raise unauthorised("the session has ended: it wasn't used for a while")
        self.last_used_ms[session.id] = now_ms
        return line

    async def _line_with(self, digest: str, now_ms: int, what: str) -> Line:
        token = await self._credentials.token_named(digest)
        if token is None or not compare_digest(token.secret_sha256, digest):
            raise unauthorised(f"the {what} is unknown, or was removed")
        called_with(token.id, token.user)
        if is_expired(token, now_ms):
            raise unauthorised(f"the {what} has expired")
        line = await self._line(token, now_ms)
        if line is None:
            raise unauthorised(f"the token that this {what} was made with has expired, or was removed")
        return line

    async def _line(self, token: Token, now_ms: int) -> Line | None:
        """None: one of them is gone."""
        line = [token]
        while line[-1].parent:
            parent = await self._credentials.token_with_id(line[-1].parent)
            if parent is None or is_expired(parent, now_ms) or len(line) == MOST_GENERATIONS:
                return None
            line.append(parent)
        return line

    async def still_allows(
        self, token: Token, needed: Role, projects: Collection[str] | None, now_ms: int
    ) -> bool:
        """Whether it is valid, with this role in all these projects. None: in all that there are."""
        if await self._credentials.token_with_id(token.id) != token or is_expired(token, now_ms):
            return False
        line = await self._line(token, now_ms)
        if line is None:
            return False
        who = who_is(line, await self._credentials.projects(), needed)
        if not at_least(who.role, needed):
            return False
        return who.projects is None or (projects is not None and all(map(who.sees, projects)))


class Permit:
    """What a request was allowed with. Streams ask again before all that they send: tokens expire and are
    removed, memberships end."""

    def __init__(
        self, access: Access, credentials: Credentials, line: Line, needed: Role, now_ms: Callable[[], int]
    ) -> None:
        self._access = access
        self._credentials = credentials
        self._line = line
        self._needed = needed
        self._now_ms = now_ms
        self._first = credentials.rights_version
        self._versions: dict[tuple[str, ...] | None, int] = {}
        """Of rights, when each was last found to hold."""
        self._expires_ms = expires_ms(line)

    async def holds(self, projects: tuple[str, ...] | None) -> bool:
        """In all these projects; None: in all that there are."""
        version, now_ms = self._credentials.rights_version, self._now_ms()
        if self._expires_ms is not None and self._expires_ms <= now_ms:
            return False
        # Mostly nothing has changed, and a busy stream asks often.
        if version != self._versions.get(projects, self._first):
            if not await self._access.still_allows(self._line[0], self._needed, projects, now_ms):
                return False
            self._versions[projects] = version
        return True


def expires_ms(line: Line) -> int | None:
    """When the first of them does."""
    return min((one.expires_ms for one in line if one.expires_ms is not None), default=None)


def who_is(line: Line, projects: Iterable[Project], needed: Role) -> Who:
    """With those projects in which the token, and each that it descends from, may do what needs this role."""
    seen: set[str] | None = None
    for token in line:
        reach = _reach(token, projects, needed)
        if reach is not None:
            seen = set(reach) if seen is None else seen.intersection(reach)
    role = min((token.role for token in line), key=_RANKS.__getitem__)
    return Who(line[0].user, role, None if seen is None else tuple(sorted(seen)))


def _reach(token: Token, projects: Iterable[Project], needed: Role) -> Iterable[str] | None:
    """Operators and admins have all projects (None); others those that the token names, or else wherever
    its user is a member of at least the role that is needed, or groups give that role."""
    if at_least(token.role, Role.OPERATOR):
        return None
    if token.projects is not None:
        return token.projects
    granted = [project for project, role in token.grants if at_least(role, needed)]
    return granted + [
        project.name
        for project in projects
        for user, role in project.members
        if user == token.user and at_least(role, needed)
    ]


def covers(line: Line, other: Token, projects: Iterable[Project]) -> bool:
    """Whether a token may do all that another of the same user may, now and later."""
    who = who_is(line, projects, other.role)
    if not at_least(who.role, other.role):
        return False
    if who.projects is None:
        return True
    if other.projects is not None:
        return all(map(who.sees, other.projects))
    if not all(who_is(line, projects, role).sees(project) for project, role in other.grants):
        return False
    return all(token.projects is None for token in line if not at_least(token.role, Role.OPERATOR))


def at_least(role: Role, needed: Role) -> bool:
    return _RANKS[role] >= _RANKS[needed]


def check_role(who: Who, needed: Role) -> None:
    if not at_least(who.role, needed):
        raise forbidden(
            f"this needs the role {needed.value}, and your token has {who.role.value}",
            f"use a token with the role {needed.value}",
        )


def check_sees(who: Who, project: str | None, kind: str, name: str) -> None:
    """Objects of other projects are treated as if they didn't exist."""
    if project is not None and not who.sees(project):
        about(project)
        raise not_found(kind, name, NOT_YOURS)


def unauthorised(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.UNAUTHORIZED,
        "unauthorised",
        detail,
        help="send the header Authorization: Bearer SECRET; `rota token add` makes a token",
        headers=(("www-authenticate", 'Bearer realm="rota"'),),
    )
