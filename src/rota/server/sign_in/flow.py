"""One sign-in by a browser, from the way to the provider until it comes back (RFC 6749, 4.1; RFC 7636; OpenID
Connect Core 1.0, 3.1).

The browser keeps one secret, in a cookie that lasts for some minutes. All that must match when it comes back
is made of it, and of what stands beside it: nothing is kept here, any server can go on with it, and a cookie
that was changed matches nothing.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe

from msgspec import Struct

LASTS_MS = 10 * 60_000
_SECRET_BYTES = 32
_COOKIE = re.compile(r"([0-9]{1,15})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_=-]{0,2000})", re.ASCII)


class Flow(Struct, frozen=True):
    began_ms: int
    secret: str
    return_to: str
    """A path of this server."""

    @classmethod
    def begun(cls, now_ms: int, return_to: str) -> Flow:
        return cls(now_ms, token_urlsafe(_SECRET_BYTES), return_to)

    @classmethod
    def read(cls, cookie: str, now_ms: int) -> Flow | None:
        """None: it is none, or too old."""
        match = _COOKIE.fullmatch(cookie)
        if match is None or not 0 <= now_ms - int(match[1]) < LASTS_MS:
            return None
        try:
            flow = cls(int(match[1]), match[2], urlsafe_b64decode(match[3]).decode())
        except ValueError:
            return None
        return flow if flow.cookie == cookie else None

    @property
    def cookie(self) -> str:
        return f"{self.began_ms}.{self.secret}.{urlsafe_b64encode(self.return_to.encode()).decode()}"

    @property
    def state(self) -> str:
        """Comes back with the browser: what another browser began ends there."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """Comes back in the ID token: one of another sign-in isn't taken."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """Only whoever has it gets something for the code."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        return _b64(sha256(self.verifier.encode()).digest())

    def _derived(self, purpose: str) -> str:
        return _b64(sha256(f"rota {purpose} {self.cookie}".encode()).digest())


def _b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
