"""A real browser, without a screen: Chromium, led by playwright.

    with Chromium() as chromium, chromium.window(server.url) as window:
        window.open("/sign-in")
        window.click("link", "Sign in with …")
        window.shows("Signed in as ada")

Each window has cookies and a history of its own. It notes what it asked for, and what the browser complains
about: styles and scripts that a page's own policy forbids, and errors of scripts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field
from playwright.sync_api import ConsoleMessage, Page, Response, sync_playwright
from playwright.sync_api import Request as Sent

from tests.real.postgres import Missing

ROOT = Path(__file__).parents[3]
PATIENCE_MS = 60_000
_COMMON = "Failed to load resource"
"""Chromium says so of each answer above 399. What was answered is in `asked`."""
Role = Literal["button", "link"]


def executable() -> str:
    """Raises Missing."""
    found = subprocess.run([ROOT / "scripts" / "chromium.sh"], capture_output=True, text=True)
    if found.returncode != 0:
        raise Missing(found.stderr.strip().splitlines()[-1])
    return found.stdout.strip()


class Cookie(Struct, frozen=True, rename="camel"):
    """As the browser has it."""

    name: str
    value: str
    domain: str
    """Without a dot before it: of this host alone."""
    path: str
    expires: float
    http_only: bool
    secure: bool
    same_site: str


class Asked(Struct):
    """A request of the window's, by whichever page."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """All that were sent, cookies included; known once there is an answer."""
    status: int | None = None
    """None: there was no answer, or the browser didn't let it through."""

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


class Chromium:
    """One process for many windows. While it runs, no event loop can be run in its thread: use it for the
    tests of one module."""

    def __init__(self) -> None:
        path = executable()
        self._playwright = sync_playwright().start()
        # Its sandbox refuses to be started by root. What it is shown here is our own.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._browser = self._playwright.chromium.launch(
            executable_path=path, args=arguments, timeout=PATIENCE_MS
        )

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._playwright.stop()

    @contextmanager
    def window(self, url: str) -> Iterator[Window]:
        """Onto the server at this address, whatever its certificate."""
        context = self._browser.new_context(base_url=url, ignore_https_errors=True)
        context.set_default_timeout(PATIENCE_MS)
        try:
            yield Window(context.new_page(), url)
        finally:
            context.close()


class Window:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        """For what the methods here don't do."""
        self.url = url
        self.asked: list[Asked] = []
        self.complaints: list[str] = []
        self._under_way: dict[Sent, Asked] = {}
        page.on("request", self._note_request)
        page.on("response", self._note_response)
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    # -- what people do

    def open(self, target: str) -> int:
        """The status. `target`: a path of the server, or another address."""
        answer = self.page.goto(target)
        assert answer is not None, f"{target} is what is shown already"
        return answer.status

    def click(self, role: Role, name: str) -> None:
        self.page.get_by_role(role, name=name).click()

    def fill(self, **fields: str) -> None:
        """By the names that a form has for them."""
        for name, value in fields.items():
            self.page.locator(f"[name={name}]").fill(value)

    def back(self) -> None:
        self.page.go_back()

    # -- what they see

    def shows(self, text: str) -> None:
        """Now, or soon."""
        self.page.get_by_text(text).first.wait_for()

    def is_at(self, path: str) -> None:
        """Now, or soon: at this path of the server."""
        self.page.wait_for_url(self.url + path)

    @property
    def text(self) -> str:
        return self.page.inner_text("body")

    # -- what they don't see

    @property
    def cookies(self) -> dict[str, Cookie]:
        """All, also those that scripts can't read."""
        given: list[Any] = self.page.context.cookies()
        return {one["name"]: msgspec.convert(one, Cookie) for one in given}

    def put_in(self, cookie: Cookie) -> None:
        self.page.context.add_cookies([msgspec.to_builtins(cookie)])

    def script(self, text: str) -> Any:
        """What a script gives that runs in the page, as one of its own would."""
        return self.page.evaluate(text)

    def during(self, act: Callable[[], object], to: str, method: str = "") -> list[Asked]:
        """The requests that `act` makes for a path of the server, once the network is quiet."""
        before = len(self.asked)
        act()
        self.page.wait_for_load_state("networkidle")
        return [
            one
            for one in self.asked[before:]
            if one.url.partition("?")[0] == self.url + to and method in ("", one.method)
        ]

    def picture(self, path: Path) -> None:
        self.page.screenshot(path=path, full_page=True)

    # -- what it notes

    def _note_request(self, sent: Sent) -> None:
        self._under_way[sent] = asked = Asked(sent.method, sent.url)
        self.asked.append(asked)

    def _note_response(self, response: Response) -> None:
        asked = self._under_way.pop(response.request, None)
        if asked is not None:
            asked.status = response.status
            asked.headers = response.request.all_headers()

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(_COMMON):
            self.complaints.append(message.text)
