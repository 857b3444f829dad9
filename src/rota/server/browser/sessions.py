"""Sessions of browsers: begun by signing in, found by a cookie, and tokens in all else."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from rota.control.access import Who
from rota.server.browser.cookies import CookieNames, cookie_of
from rota.server.browser.forgery import CSRF_HEADER, check_csrf, check_origin, check_read, csrf_of
from rota.server.browser.hosts import Hosts
from rota.server.http.limits import RateLimit
from rota.server.identity.access import Access, Line
from rota.server.identity.minting import Mint, NewToken

CALLBACK = "/sign-in/callback"
_SIGN_INS_PER_SECOND, _SIGN_IN_BURST = 5.0, 100
"""From one address: a whole institute may be behind it."""
_ALL_PER_SECOND, _ALL_BURST = 50.0, 500
_HELP = "sign in once, and go on with the session"


class PageTerms(Struct, frozen=True, kw_only=True):
    url: str
    """Where browsers reach the pages, without a slash at its end."""
    hosts: Hosts
    """By which names."""
    session_ms: int = 12 * 3_600_000
    idle_ms: int = 2 * 3_600_000
    """A session ends that isn't used for so long."""
    takes_tokens: bool = True
    """Whoever has a token can sign in with it."""


class Pages:
    """What the server knows of its pages, and of those who use them."""

    def __init__(self, access: Access, terms: PageTerms) -> None:
        self.terms = terms
        self.cookies = CookieNames(urlsplit(terms.url).scheme == "https")
        self._access = access
        self._rate = RateLimit(_SIGN_INS_PER_SECOND, _SIGN_IN_BURST, help=_HELP)
        self._all = RateLimit(_ALL_PER_SECOND, _ALL_BURST, help=_HELP)

    @property
    def callback(self) -> str:
        return self.terms.url + CALLBACK

    @property
    def host(self) -> str:
        return urlsplit(self.terms.url).netloc

    def admit(self, address: str, now_ms: int) -> None:
        """One who tries to sign in: each costs the provider, or the database, something."""
        self._rate.take(address, now_ms)
        self._all.take("", now_ms)

    def secret_of(self, headers: Mapping[str, str]) -> str | None:
        """What the browser shows; None: nothing."""
        return cookie_of(headers.get("cookie", ""), self.cookies.session)

    def csrf(self, headers: Mapping[str, str]) -> str:
        return csrf_of(self.secret_of(headers) or "")

    async def line_of(
        self, headers: Mapping[str, str], now_ms: int, *, changes: bool, csrf: str | None = None
    ) -> Line | None:
        """Of the session that is shown; None: there is none. Raises a problem if it has ended, or another
        site may be behind the request. `csrf`: as a form has it; else it is in the header."""
        secret = self.secret_of(headers)
        if secret is None:
            return None
        line = await self._access.line_of_session(secret, now_ms, self.terms.idle_ms)
        if changes:
            check_origin(headers, self.terms.url)
            check_csrf(secret, headers.get(CSRF_HEADER) if csrf is None else csrf)
        else:
            check_read(headers)
        return line

    async def begin(self, wanted: NewToken, mint: Mint, now_ms: int) -> tuple[str, tuple[str, str]]:
        """The session's secret, and the header that gives it to the browser."""
        session, secret = await mint.make(wanted, Who(wanted.user, wanted.role), now_ms)
        assert session.expires_ms is not None, "a session ends"
        seconds = max(1, (session.expires_ms - now_ms) // 1000)
        return secret, self.cookies.set_session(secret, seconds)
