"""Who asks: tokens, sessions of browsers, an agent that was let in, and nobody at all."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from rota.server.browser.forgery import csrf_of
from tests.hostile.odd import Odd

Header = tuple[str, str]
_ORIGINS = ("null", "https://evil.example.org", "http://127.0.0.1")
_SITES = ("same-origin", "none", "cross-site", "same-site", "")


class Guests(Struct):
    """All that is known of a server's guests. An input may have ended any of it."""

    url: str = "http://127.0.0.1"
    """The server's."""
    tokens: dict[str, str] = field(default_factory=dict)
    """Secrets, by role."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Values of cookies, by role."""
    flow: str = ""
    """The cookie of a sign-in that is under way."""
    agent: str = ""
    """The secret that an agent was welcomed with."""
    task: tuple[str, int, int] = ("1", 0, 1)
    """One that the agent was offered: job, rank, fence."""

    def headers(self, odd: Odd, *, is_page: bool, is_for_agents: bool) -> Iterator[Header]:
        """What a request says of who makes it."""
        kinds = ["token", "session", "agent", "odd", "nobody"]
        weights = [20, 60, 2, 8, 10] if is_page else [10, 4, 80, 3, 3] if is_for_agents else [72, 18, 2, 4, 4]
        [kind] = odd.random.choices(kinds, weights)
        match kind:
            case "token" if self.tokens:
                yield "authorization", f"Bearer {odd.random.choice(list(self.tokens.values()))}"
            case "agent":
                yield "authorization", f"Bearer {self.agent}"
            case "odd":
                yield "authorization", odd.random.choice((f"Bearer {odd.text()}", odd.text(), "Basic YTpi"))
            case "session" if self.sessions:
                yield from self._of_browser(odd)

    def _of_browser(self, odd: Odd) -> Iterator[Header]:
        session = odd.random.choice(list(self.sessions.values()))
        if odd.random.random() < 0.05:
            session = odd.text().encode("utf-8", "replace").decode()
        cookies = [f"rota-session={session}"]
        if odd.random.random() < 0.5:
            cookies.append(f"rota-sign-in={self.flow}")
        if odd.random.random() < 0.05:
            cookies.append(odd.text())
        yield "cookie", "; ".join(cookies)
        if odd.random.random() < 0.9:
            yield "origin", self.url if odd.random.random() < 0.9 else odd.random.choice(_ORIGINS)
        if odd.random.random() < 0.9:
            yield "x-csrf-token", csrf_of(session) if odd.random.random() < 0.9 else odd.text()
        if odd.random.random() < 0.3:
            yield "sec-fetch-site", odd.random.choice(_SITES)
