"""Cookies, read and written (RFC 6265bis)."""

from __future__ import annotations

from msgspec import Struct

_MOST_CHARACTERS = 16 * 1024


class CookieNames(Struct, frozen=True):
    """With TLS a name begins with `__Host-`: browsers take such a cookie from this very host alone, over TLS
    alone, and neither another name below the same domain nor a reader of plain traffic can put one in."""

    is_secure: bool

    @property
    def session(self) -> str:
        return self._named("rota-session")

    @property
    def flow(self) -> str:
        """Of a sign-in that is under way."""
        return self._named("rota-sign-in")

    def _named(self, name: str) -> str:
        return f"__Host-{name}" if self.is_secure else name

    def set_session(self, value: str, seconds: int) -> tuple[str, str]:
        """Strict: no request that another site causes carries it, not even a link that is followed."""
        return self._set(self.session, value, seconds, "Strict")

    def set_flow(self, value: str, seconds: int) -> tuple[str, str]:
        """Lax: the provider sends the browser back, and that is a link of another site."""
        return self._set(self.flow, value, seconds, "Lax")

    def end_session(self) -> tuple[str, str]:
        return self._set(self.session, "", 0, "Strict")

    def end_flow(self) -> tuple[str, str]:
        return self._set(self.flow, "", 0, "Lax")

    def _set(self, name: str, value: str, seconds: int, same_site: str) -> tuple[str, str]:
        parts = [f"{name}={value}", "Path=/", f"Max-Age={seconds}", "HttpOnly", f"SameSite={same_site}"]
        if self.is_secure:
            parts.append("Secure")
        return "set-cookie", "; ".join(parts)


def cookie_of(header: str, name: str) -> str | None:
    """None: there is none, or more than one. Which of two is ours can't be told."""
    if len(header) > _MOST_CHARACTERS:
        return None
    found = [value for given, _, value in map(_pair, header.split(";")) if given == name]
    return found[0] if len(found) == 1 and found[0] else None


def _pair(part: str) -> tuple[str, str, str]:
    name, equals, value = part.strip(" \t").partition("=")
    return name, equals, value
