"""Sessions: found by a cookie, ended by time, and never taken for tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from rota.api.people import Role
from rota.server.browser.forgery import csrf_of
from rota.server.browser.hosts import Hosts
from rota.server.browser.sessions import Pages, PageTerms
from rota.server.http.problems import ProblemError
from rota.server.identity.access import Access, secret_hash, session_hash
from rota.store.writing.batch import Project, Token

URL = "https://rota.example.org"
SECRET = "rota_" + "s" * 43
HOUR_MS = 3_600_000
COOKIE = {"cookie": f"x=1; __Host-rota-session={SECRET}"}
SESSION = Token("web", session_hash(SECRET), "ada", Role.VIEWER, None, 0, 12 * HOUR_MS, browser=True)


class Kept:
    rights_version = 0

    def __init__(self, *tokens: Token) -> None:
        self._tokens = tokens

    async def token_named(self, secret_sha256: str) -> Token | None:
        return next((one for one in self._tokens if one.secret_sha256 == secret_sha256), None)

    async def token_with_id(self, token_id: str) -> Token | None:
        return next((one for one in self._tokens if one.id == token_id), None)

    async def projects(self) -> Sequence[Project]:
        return ()


class World:
    def __init__(self, *tokens: Token, began_ms: int = 0) -> None:
        self.access = Access(Kept(*tokens), began_ms)
        self.pages = Pages(self.access, PageTerms(url=URL, hosts=Hosts.of([]), idle_ms=2 * HOUR_MS))

    def ask(self, now_ms: int = 0, changes: bool = False, **headers: str) -> str | None:
        """The id of the session; None: none is shown."""
        return self.send({name.replace("_", "-"): value for name, value in headers.items()}, now_ms, changes)

    def send(self, headers: dict[str, str], now_ms: int = 0, changes: bool = False) -> str | None:
        sent = {**COOKIE, **headers}
        line = asyncio.run(self.pages.line_of(sent, now_ms, changes=changes))
        return None if line is None else line[0].id


def refused(world: World, words: str, now_ms: int = 0) -> None:
    with pytest.raises(ProblemError, match=words) as caught:
        world.ask(now_ms)
    assert caught.value.status == 401


def test_a_session_is_found_by_its_cookie() -> None:
    world = World(SESSION)
    assert world.ask() == "web"
    assert world.ask(cookie="rota-session=" + SECRET) is None
    assert world.ask(cookie="") is None


def test_it_ends_without_use() -> None:
    world = World(SESSION)
    for hour in (1, 2, 3):
        assert world.ask(hour * HOUR_MS) == "web"
    assert world.ask(5 * HOUR_MS - 1) == "web"
    refused(world, "wasn't used", 7 * HOUR_MS - 1)
    # A refused request is no use.
    refused(world, "wasn't used", 7 * HOUR_MS)


def test_its_age_has_an_end_however_much_it_is_used() -> None:
    world = World(SESSION)
    for hour in range(12):
        assert world.ask(hour * HOUR_MS) == "web"
    refused(world, "has expired", 12 * HOUR_MS)


def test_after_a_restart_it_counts_as_used_then() -> None:
    world = World(SESSION, began_ms=4 * HOUR_MS)
    assert world.ask(5 * HOUR_MS) == "web"
    refused(World(SESSION, began_ms=4 * HOUR_MS), "wasn't used", 6 * HOUR_MS)


def test_it_ends_with_the_token_that_it_was_made_with() -> None:
    child = replace(SESSION, parent="t1")
    parent = Token("t1", "0", "ada", Role.VIEWER, None, 0, HOUR_MS)
    assert World(child, parent).ask() == "web"
    refused(World(child), "has expired, or was removed")
    refused(World(child, parent), "has expired, or was removed", HOUR_MS)


def test_a_token_is_no_session_and_a_session_no_token() -> None:
    token = replace(SESSION, secret_sha256=secret_hash(SECRET), browser=False)
    refused(World(token), "unknown")
    # Not even if their hashes were mixed up.
    refused(World(replace(SESSION, browser=False)), "ended")
    for kept in (SESSION, replace(token, browser=True)):
        with pytest.raises(ProblemError, match="unknown"):
            asyncio.run(World(kept).access.line_of(f"Bearer {SECRET}", 0))


def test_a_change_needs_a_page_of_ours_and_its_csrf_token() -> None:
    world = World(SESSION)
    assert world.ask(changes=True, origin=URL, x_csrf_token=csrf_of(SECRET)) == "web"
    lacking: list[dict[str, str]] = [{}, {"origin": URL}, {"x-csrf-token": csrf_of(SECRET)}]
    for headers in lacking:
        with pytest.raises(ProblemError) as caught:
            world.send(headers, changes=True)
        assert caught.value.kind == "cross-site"


def test_sign_ins_are_limited_by_address() -> None:
    pages = World().pages
    for _ in range(100):
        pages.admit("10.0.0.7", 0)
    with pytest.raises(ProblemError) as caught:
        pages.admit("10.0.0.7", 0)
    assert caught.value.status == 429
    pages.admit("10.0.0.8", 0)
    pages.admit("10.0.0.7", 1000)
