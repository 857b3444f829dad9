"""A server that doesn't lead passes requests on as they are, and says what it can't do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from litestar.types import ASGIApp, Receive, Scope, Send

from rota.api.people import Role
from rota.clock import now_ms
from rota.server.http.app import make_app
from rota.server.http.places import PLACE
from rota.server.http.serve import RestServer
from rota.server.http.tls import Certificate, self_signed
from rota.server.leading.forward import FORWARDED, Forward
from rota.server.leading.replica import fingerprint_of
from rota.store.errors import StoreUnavailable
from rota.store.sql.leases import Lease
from rota.trust import Authority
from tests.unit.server.fake_desk import FakeDesk, as_desks
from tests.unit.server.fake_state import secret_of

pytestmark = pytest.mark.covers("ops-2")

HEADERS = {"authorization": f"Bearer {secret_of(Role.ADMIN)}"}


@asynccontextmanager
async def serving(app: ASGIApp, certificate: Certificate | None = None) -> AsyncIterator[str]:
    server = RestServer(app, "127.0.0.1", 0, certificate=certificate)
    await server.start()
    try:
        yield server.url
    finally:
        await server.stop()


class Follower:
    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self._session = session

    async def ask(self, method: str, path: str, **more: object) -> tuple[int, bytes, Mapping[str, str]]:
        headers = {**HEADERS, **more.pop("headers", {})}  # type: ignore[dict-item]
        request = self._session.request(method, self.url + path, headers=headers, **more)  # type: ignore[arg-type]
        async with request as answer:
            return answer.status, await answer.read(), answer.headers


@asynccontextmanager
async def following(
    lease: Lease | Exception | None, owners: list[str] | None = None
) -> AsyncIterator[Follower]:
    """`owners`: takes in whose each connection is known to be, once its request is answered."""

    async def who_leads() -> Lease | None:
        if isinstance(lease, Exception):
            raise lease
        return lease

    closing = asyncio.Event()
    forward = Forward(who_leads, closing)

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        await forward(scope, receive, send)
        if owners is not None:
            owners.append(scope["state"][PLACE].owner)

    async with serving(watched) as url, aiohttp.ClientSession() as session:
        try:
            yield Follower(url, session)
        finally:
            closing.set()
            await forward.close()


def lease(address: str, certificate: str = "") -> Lease:
    return Lease("leader", address, certificate, 1000)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(limited())


@pytest.mark.covers("trust-1")
@pytest.mark.slow
def test_whoever_the_leader_knows_has_proved_who_they_are() -> None:
    """Those who haven't give way first when all connections are taken."""

    async def test() -> None:
        owners: list[str] = []
        async with (
            serving(make_app(as_desks(FakeDesk()))) as leader,
            following(lease(leader), owners) as follower,
        ):
            assert (await follower.ask("GET", "/v1/me", headers={"authorization": "Bearer x"}))[0] == 401
            assert (await follower.ask("GET", "/v1/me"))[0] == 200
        assert owners[0] == ""
        assert owners[1].startswith("token ")
        assert secret_of(Role.ADMIN) not in owners[1]

    run(test)


def test_what_is_asked_and_answered_goes_through_as_it_is() -> None:
    async def test() -> None:
        desk = FakeDesk()
        async with serving(make_app(as_desks(desk))) as leader, following(lease(leader)) as follower:
            job = b'{"jobs": [{"command": ["true"]}]}'
            status, body, headers = await follower.ask(
                "POST", "/v1/jobs?dry_run=false", data=job, headers={"content-type": "application/json"}
            )
            assert (status, headers["content-type"]) == (201, "application/json")
            assert b'"jobs":[{' in body
            assert desk.changes == [("submit", "ada", 1)]
            status, body, _ = await follower.ask("GET", "/v1/jobs/17/outputs/result.txt")
            assert (status, body) == (200, b"42")
            status, body, headers = await follower.ask("GET", "/v1/jobs/99")
            assert (status, headers["content-type"]) == (404, "application/problem+json")
            status, _, headers = await follower.ask("GET", "/v1/me", headers={"authorization": "Bearer x"})
            assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="rota"')
            data = b"x" * 3_000_000
            digest = sha256(data).hexdigest()
            status, _, _ = await follower.ask("PUT", f"/v1/files/{digest}", data=BytesIO(data))
            assert status in (200, 201)
            assert desk.files == {digest: data}

    run(test)


@pytest.mark.slow
def test_streams_come_as_they_are_made() -> None:
    async def test() -> None:
        go_on = asyncio.Event()
        ended = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await go_on.wait()
            await send({"type": "http.response.body", "body": b"second", "more_body": True})
            while (await receive())["type"] != "http.disconnect":
                pass
            ended.set()

        async with (
            serving(app) as leader,
            following(lease(leader)) as follower,
            aiohttp.ClientSession() as session,
        ):
            async with session.get(f"{follower.url}/v1/events/stream") as answer:
                assert await answer.content.readexactly(5) == b"first"
                go_on.set()
                assert await answer.content.readexactly(6) == b"second"
            await ended.wait()  # Who leaves the follower leaves the leader.

    run(test)


@pytest.mark.parametrize("known", [None, lease(""), StoreUnavailable("gone"), lease("http://127.0.0.1:1")])
@pytest.mark.slow
def test_without_a_leader_nothing_is_done(known: Lease | Exception | None) -> None:
    async def test() -> None:
        async with following(known) as follower:
            status, body, headers = await follower.ask("POST", "/v1/jobs", data=b"{}")
            assert (status, headers["retry-after"]) == (503, "1")
            assert b"nothing was changed" in body
            assert (await follower.ask("GET", "/healthz"))[0] == 200

    run(test)


@pytest.mark.slow
def test_a_server_that_knows_who_leads_is_ready_to_pass_on() -> None:
    async def test() -> None:
        async with following(lease("http://127.0.0.1:1")) as follower:
            assert (await follower.ask("GET", "/readyz"))[:2] == (200, b'{"status":"standby"}')
        async with following(None) as follower:
            assert (await follower.ask("GET", "/readyz"))[0] == 503

    run(test)


@pytest.mark.slow
def test_a_request_is_passed_on_once() -> None:
    async def test() -> None:
        async with serving(make_app(as_desks(FakeDesk()))) as leader, following(lease(leader)) as follower:
            status, body, _ = await follower.ask("GET", "/v1/me", headers={FORWARDED: "1"})
            assert status == 503
            assert b"the leader is changing" in body

    run(test)


@pytest.mark.parametrize("method, status", [("POST", 502), ("GET", 503)])
@pytest.mark.slow
def test_a_leader_that_goes_away_leaves_changes_in_doubt(method: str, status: int) -> None:
    async def test() -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, following(lease(f"http://127.0.0.1:{port}")) as follower:
            found, body, _ = await follower.ask(method, "/v1/jobs")
            assert found == status
            assert (b"it is unknown whether the change was made" in body) is (method == "POST")

    run(test)


@pytest.mark.slow
def test_a_leader_is_known_by_the_certificate_in_its_lease(tmp_path: Path) -> None:
    async def test() -> None:
        authority = Authority.create(now_ms())
        shown = self_signed(tmp_path / "a", ["127.0.0.1"], authority, now_ms())
        other = self_signed(tmp_path / "b", ["127.0.0.1"], authority, now_ms())
        async with serving(make_app(as_desks(FakeDesk())), shown) as leader:
            async with following(lease(leader, fingerprint_of(shown))) as follower:
                assert (await follower.ask("GET", "/v1/me"))[0] == 200
            async with following(lease(leader, fingerprint_of(other))) as follower:
                assert (await follower.ask("GET", "/v1/me"))[0] == 503

    run(test)


@pytest.mark.covers("job-6")
@pytest.mark.slow
def test_a_leader_that_does_not_answer_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with following(lease("http://127.0.0.1:1")) as follower:
            assert (await follower.ask("GET", "/readyz"))[0] == 200
            for _ in range(5):
                assert (await follower.ask("GET", "/v1/me"))[0] == 503
            asked: list[Lease] = []
            ask = Forward._ask

            async def counting(self: Forward, leader: Lease, *more: Any) -> aiohttp.ClientResponse:
                asked.append(leader)
                return await ask(self, leader, *more)

            monkeypatch.setattr(Forward, "_ask", counting)
            status, body, _ = await follower.ask("GET", "/v1/me")
            assert (status, b"can't be reached" in body, asked) == (503, True, [])
            assert (await follower.ask("GET", "/readyz"))[0] == 503, "who balances load should know"
            while not asked:
                assert (await follower.ask("GET", "/v1/me"))[0] == 503
                await asyncio.sleep(0.05)

    run(test)
