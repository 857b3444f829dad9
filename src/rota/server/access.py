"""Who asks, and what they may do: bearer tokens, roles, projects."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from secrets import token_urlsafe

from rota.api.documents import Role
from rota.control.access import Who
from rota.server.desk import Desk
from rota.server.problems import ProblemError, forbidden, not_found
from rota.store.batch import Project, Token

SECRET_PREFIX = "rota_"
_SECRET_BYTES = 32
_MAX_HEADER = 200
_RANKS = {role: rank for rank, role in enumerate(Role)}


def new_secret() -> str:
    """`rota_` and 43 characters that may stand in a URL: 256 random bits."""
    return SECRET_PREFIX + token_urlsafe(_SECRET_BYTES)


def secret_hash(secret: str) -> str:
    """All that is kept of a secret. It has 256 random bits: nothing slower than a hash is needed."""
    return sha256(secret.encode()).hexdigest()


class Access:
    """Tells whose a request is, and remembers when each token was last used."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.last_used_ms: dict[str, int] = {}
        """By the token's id, since the server started."""

    async def token_of(self, authorization: str | None, now_ms: int) -> Token:
        if not authorization:
            raise _unauthorised("no token was sent")
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer" or not secret.isascii() or len(secret) > _MAX_HEADER:
            raise _unauthorised("the Authorization header isn't of the form Bearer SECRET")
        digest = secret_hash(secret)
        token = await self._desk.token_named(digest)
        if token is None or not compare_digest(token.secret_sha256, digest):
            raise _unauthorised("the token is unknown, or was removed")
        if is_expired(token, now_ms):
            raise _unauthorised("the token has expired")
        self.last_used_ms[token.id] = now_ms
        return token

    async def still_allows(self, token: Token, now_ms: int) -> bool:
        return await self._desk.token_named(token.secret_sha256) == token and not is_expired(token, now_ms)


def is_expired(token: Token, now_ms: int) -> bool:
    return token.expires_ms is not None and token.expires_ms <= now_ms


def who_is(token: Token, projects: Iterable[Project], needed: Role) -> Who:
    """With those projects in which the token may do what needs this role: operators and admins in all;
    others in those that the token names, or else wherever its user is a member of at least that role."""
    if at_least(token.role, Role.OPERATOR):
        return Who(token.user, token.role, None)
    if token.projects is not None:
        return Who(token.user, token.role, token.projects)
    roles = {project.name: dict(project.members).get(token.user) for project in projects}
    mine = tuple(sorted(name for name, role in roles.items() if role is not None and at_least(role, needed)))
    return Who(token.user, token.role, mine)


def at_least(role: Role, needed: Role) -> bool:
    return _RANKS[role] >= _RANKS[needed]


def check_role(who: Who, needed: Role) -> None:
    if not at_least(who.role, needed):
        raise forbidden(
            f"this needs the role {needed.value}, and your token has {who.role.value}",
            f"use a token with the role {needed.value}",
        )


def check_sees(who: Who, project: str | None, kind: str, name: str) -> None:
    """What is in other projects is as if it weren't there."""
    if project is not None and not who.sees(project):
        raise not_found(kind, name)


def _unauthorised(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.UNAUTHORIZED,
        "unauthorised",
        detail,
        help="send the header Authorization: Bearer SECRET; `rota token create` makes a token",
        headers=(("www-authenticate", 'Bearer realm="rota"'),),
    )
