"""The only place where tokens are made. A secret is shown once, and only its hash is stored."""

from __future__ import annotations

from secrets import token_urlsafe
from uuid import uuid4

from msgspec import Struct

from rota.api.people import Role
from rota.control.access import Who
from rota.loop.desk.answers import AnswerOf
from rota.loop.desk.people import PeopleDesk
from rota.server.http.limits import Limits, RateLimit
from rota.server.identity.access import Line, expires_ms, secret_hash, session_hash
from rota.store.writing.batch import Token

SECRET_PREFIX = "rota_"
_SECRET_BYTES = 32
_PER_SECOND = 1.0
_BURST = 60
"""This many at once after a pause, as for a class of students."""


class NewToken(Struct, frozen=True, kw_only=True):
    """The requested token. The caller has checked that it is allowed."""

    user: str
    role: Role
    projects: tuple[str, ...] | None = None
    lasts_ms: int | None = None
    """None: as long as it may."""
    origin: str = ""
    grants: tuple[tuple[str, Role], ...] = ()
    made_with: Line = ()
    """The new token is valid only while these are; empty: it stands by itself."""
    browser: bool = False
    """A session, which a browser shows as a cookie."""


class Mint:
    def __init__(self, people: PeopleDesk, limits: Limits) -> None:
        self._people = people
        self._most = limits.tokens_per_user
        self._most_sessions = limits.sessions_per_user
        self._longest_ms = limits.token_age_ms
        self._rate = RateLimit(_PER_SECOND, _BURST, help="one token can be used for many requests")

    async def make(
        self,
        wanted: NewToken,
        who: Who,
        now_ms: int,
        dry_run: bool = False,
        answer_of: AnswerOf[Token] = None,
    ) -> tuple[Token, str]:
        """And its secret. Raises Conflict where its user has as many as may be, and 429 where tokens are
        made too fast. Of sessions, the oldest ends instead."""
        maker = wanted.made_with[0].user if wanted.made_with else wanted.user
        self._rate.take(maker, now_ms)
        secret = new_secret()
        token = Token(
            uuid4().hex[:12],
            session_hash(secret) if wanted.browser else secret_hash(secret),
            wanted.user,
            wanted.role,
            wanted.projects,
            now_ms,
            self._expires_ms(wanted, now_ms),
            wanted.made_with[0].id if wanted.made_with else "",
            wanted.origin,
            wanted.grants,
            wanted.browser,
        )
        most = self._most_sessions if wanted.browser else self._most
        await self._people.add_token(token, who, dry_run, answer_of, most)
        return token, secret

    def _expires_ms(self, wanted: NewToken, now_ms: int) -> int | None:
        """Never later than the token it is made with: otherwise a token could prolong itself."""
        lasting = (lasts_ms for lasts_ms in (wanted.lasts_ms, self._longest_ms) if lasts_ms)
        ends = [now_ms + lasts_ms for lasts_ms in lasting]
        if (parents_end_ms := expires_ms(wanted.made_with)) is not None:
            ends.append(parents_end_ms)
        return min(ends, default=None)


def new_secret() -> str:
    """`rota_` and 43 characters that may stand in a URL: 256 random bits."""
    return SECRET_PREFIX + token_urlsafe(_SECRET_BYTES)
