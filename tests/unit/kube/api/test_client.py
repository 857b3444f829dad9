"""What a client makes of answers that a real API server gives only once in a while."""

import asyncio
from typing import Any

import pytest
from msgspec import json

from rota.kube.api.client import Client, PatchKind, Retries, Selection
from rota.kube.api.credentials import Credentials
from rota.kube.api.decoding import ChangeKind
from rota.kube.api.errors import (
    BadAnswer,
    Expired,
    HeldByBudget,
    NotConnected,
    ServerFailure,
    Silent,
    TooManyRequests,
    Unauthorised,
    Unreachable,
    Withheld,
)
from rota.kube.api.resources import LEASES, NODES, PODS
from rota.patience.backoff import Backoff
from tests.unit.kube.scripted_server import FAST, Answer, ScriptedServer, ask, silent_server

pytestmark = pytest.mark.covers("kube-5")

POD = {"metadata": {"name": "a", "namespace": "ns", "resourceVersion": "5"}, "spec": {}}
BUSY = Answer(429, {"code": 429, "reason": "TooManyRequests"}, {"Retry-After": "0"})
BROKEN_OFF = Answer(0)


def test_a_busy_server_is_asked_again() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            await client.bind("ns", "a", "node-1", uid="u-1")

    server = ask(question, BUSY, BUSY, Answer(201))
    assert [asked.method for asked in server.asked] == ["POST"] * 3
    assert server.asked[-1].path == "/api/v1/namespaces/ns/pods/a/binding"
    assert json.decode(server.asked[-1].body) == {
        "metadata": {"name": "a", "uid": "u-1"},
        "target": {"kind": "Node", "name": "node-1"},
    }


def test_who_is_told_to_wait_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[float] = []

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            monkeypatch.setattr("rota.kube.api.client.asyncio.sleep", pause)
            await client.get(PODS, "a", "ns")
            monkeypatch.undo()

    in_header = Answer(429, {"code": 429}, {"Retry-After": "3"})
    in_status = Answer(429, {"code": 429, "details": {"retryAfterSeconds": 7}})
    ask(question, in_header, in_status, Answer(200, POD))
    assert paused == [3.0, 7.0]


def test_nobody_waits_for_ever() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            with pytest.raises(TooManyRequests) as raised:
                await client.get(PODS, "a", "ns")
            assert raised.value.retry_after_s == 3600.0

    server = ask(question, Answer(429, {"code": 429}, {"Retry-After": "3600"}))
    assert len(server.asked) == 1


def test_it_gives_up_in_the_end() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            with pytest.raises(ServerFailure, match="get pods ns/a: 503: etcd is away"):
                await client.get(PODS, "a", "ns")

    server = ask(question, *[Answer(503, {"code": 503, "message": "etcd is away"})] * 4)
    assert len(server.asked) == FAST.attempts


@pytest.mark.parametrize("answer", [BROKEN_OFF, Answer(500, {"code": 500})])
def test_what_may_have_happened_is_repeated_only_where_that_does_no_harm(answer: Answer) -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            await client.get(PODS, "a", "ns")
            await client.patch_status(PODS, "a", {"status": {}}, "ns")
            await client.delete(PODS, "a", "ns", uid="u-1", grace_s=0)
            with pytest.raises((Unreachable, ServerFailure)) as raised:
                await client.bind("ns", "a", "node-1")
            assert raised.value.may_have_happened
            with pytest.raises((Unreachable, ServerFailure)):
                await client.create(PODS, POD, "ns")

    server = ask(question, answer, Answer(200, POD), answer, Answer(), answer, Answer(), answer, answer)
    methods = [asked.method for asked in server.asked]
    assert methods == ["GET", "GET", "PATCH", "PATCH", "DELETE", "DELETE", "POST", "POST"]
    assert json.decode(server.asked[4].body) == {
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u-1"},
    }


def test_where_nobody_listens_nothing_has_happened() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client(retries=Retries(2, Backoff(0.001, 0.001))) as client:
            server.url = ""
            assert server._runner is not None
            await server._runner.cleanup()
            with pytest.raises(NotConnected) as raised:
                await client.bind("ns", "a", "node-1")
            assert not raised.value.may_have_happened

    ask(question)


async def test_silence_ends_a_call() -> None:
    async with silent_server() as server, server.client(timeout_s=0.05) as client:
        with pytest.raises(Unreachable):
            await client.bind("ns", "a", "node-1")


@pytest.mark.slow
def test_waiting_for_a_connection_is_no_silence_of_the_server() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client(connections=1, timeout_s=1.0) as client:
            await asyncio.gather(*(client.bind("ns", str(number), "node-1") for number in range(12)))

    server = ask(question, *[Answer(201, after_s=0.1)] * 12)
    assert len(server.asked) == 12


@pytest.mark.covers("kube-6")
def test_who_no_longer_leads_sends_nothing_that_waited_for_a_connection() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client(connections=1) as client:
            held_back = client.only_while(lambda: not server.asked)
            calls = (held_back.bind("ns", name, "node-1") for name in ("first", "second"))
            first, second = await asyncio.gather(*calls, return_exceptions=True)
            assert first is None
            assert isinstance(second, Withheld)
            assert not second.may_have_happened
            # Others of that process aren't concerned.
            await client.bind("ns", "third", "node-1")

    server = ask(question, Answer(201, after_s=0.1), Answer(201))
    assert [asked.path.split("/")[-2] for asked in server.asked] == ["first", "third"]


@pytest.mark.covers("kube-6")
def test_who_no_longer_leads_doesnt_ask_again() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            with pytest.raises(Withheld):
                await client.only_while(lambda: not server.asked).bind("ns", "a", "node-1")

    server = ask(question, Answer(429, {"code": 429, "reason": "TooManyRequests"}))
    assert len(server.asked) == 1


@pytest.mark.covers("kube-6")
@pytest.mark.slow
def test_a_lease_is_renewed_however_many_pods_are_being_bound() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client(connections=1) as client:
            binding = [asyncio.create_task(client.bind("ns", str(number), "node-1")) for number in range(3)]
            while not server.asked:
                await asyncio.sleep(0.01)
            await client.ahead_of_others().patch(LEASES, "leader", {"spec": {}}, "ns")
            await asyncio.gather(*binding)

    lease = {"metadata": {"name": "leader"}}
    server = ask(question, Answer(201, after_s=0.2), Answer(200, lease), Answer(201), Answer(201))
    assert [asked.method for asked in server.asked] == ["POST", "PATCH", "POST", "POST"]


def test_a_budget_is_not_waited_for() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            with pytest.raises(HeldByBudget):
                await client.evict("ns", "a")

    causes = {"causes": [{"reason": "DisruptionBudget", "message": "needs 2"}]}
    server = ask(question, Answer(429, {"code": 429, "reason": "TooManyRequests", "details": causes}))
    assert len(server.asked) == 1


class Rotating:
    """Others, each time they are refused."""

    def __init__(self, *tokens: str) -> None:
        self.left = [Credentials(token) for token in tokens]

    async def current(self) -> Credentials:
        return self.left[0]

    def refused(self, credentials: Credentials) -> None:
        if len(self.left) > 1 and credentials is self.left[0]:
            self.left.pop(0)


def test_credentials_that_expired_are_renewed() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client(Rotating("old", "new")) as client:
            await client.bind("ns", "a", "node-1")
            with pytest.raises(Unauthorised, match="check the token"):
                await client.bind("ns", "a", "node-1")

    refused = Answer(401, {"code": 401, "message": "Unauthorized"})
    server = ask(question, refused, Answer(201), refused)
    tokens = [asked.headers["Authorization"] for asked in server.asked]
    assert tokens == ["Bearer old", "Bearer new", "Bearer new"]


def test_pages() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            selection = Selection("ns", labels="app=web,tier!=x", fields="spec.nodeName=")
            pages = [page async for page in client.pages(PODS, selection, page_size=2)]
            assert [len(page.items) for page in pages] == [2, 1]
            assert pages[-1].resource_version == "9"

    server = ask(
        question,
        Answer(200, {"metadata": {"resourceVersion": "9", "continue": "a/b="}, "items": [POD, POD]}),
        Answer(200, {"metadata": {"resourceVersion": "9"}, "items": [POD]}),
    )
    base = "/api/v1/namespaces/ns/pods?labelSelector=app%3Dweb%2Ctier%21%3Dx&fieldSelector=spec.nodeName%3D"
    assert [asked.path for asked in server.asked] == [
        f"{base}&limit=2",
        f"{base}&limit=2&continue=a%2Fb%3D",
    ]


def line(kind: str, **found: Any) -> bytes:
    return json.encode({"type": kind, "object": {**POD, **found}}) + b"\n"


async def watched(client: Client) -> list[ChangeKind]:
    return [change.kind async for changes in client.watch(NODES, "5") for change in changes]


def test_a_watch_in_pieces() -> None:
    stream = line("ADDED") + line("MODIFIED") + line("BOOKMARK")
    pieces = tuple(stream[at : at + 7] for at in range(0, len(stream), 7))

    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            kinds = await watched(client)
            assert kinds == [ChangeKind.ADDED, ChangeKind.MODIFIED, ChangeKind.BOOKMARK]

    server = ask(question, Answer(chunks=pieces))
    assert server.asked[0].path == (
        "/api/v1/nodes?watch=1&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=300"
    )


def test_a_line_that_is_torn_off_is_no_change() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            assert await watched(client) == [ChangeKind.ADDED]

    ask(question, Answer(chunks=(line("ADDED") + line("MODIFIED")[:-9],)))


def test_a_line_of_megabytes() -> None:
    bulky = line("ADDED", status={"conditions": [{"type": "x" * 3_000_000}]})

    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            assert await watched(client) == [ChangeKind.ADDED, ChangeKind.DELETED]

    ask(question, Answer(chunks=(bulky, line("DELETED"))))


def test_a_version_that_is_too_old() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            for _ in range(2):
                with pytest.raises(Expired):
                    await watched(client)

    told = {"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}
    ask(question, Answer(410, {"code": 410}), Answer(chunks=(json.encode(told) + b"\n",)))


async def test_a_watch_that_falls_silent_is_over() -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + line("ADDED")
    async with silent_server(said) as server, server.client() as client:
        watch = client.watch(PODS, "5", silent_s=0.05)
        assert [change.kind for change in await anext(watch)] == [ChangeKind.ADDED]
        with pytest.raises(Silent):
            await anext(watch)


@pytest.mark.parametrize("body", ["text", {"items": 7}])
def test_answers_of_something_else(body: object) -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            with pytest.raises(BadAnswer, match="list pods: the answer can't be read"):
                await client.list_all(PODS)
            with pytest.raises(BadAnswer):
                await client.get(PODS, "a", "ns")

    ask(question, Answer(200, body), Answer(200, body))


def test_kinds_of_patches() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            await client.patch(PODS, "a", {"metadata": {"labels": {"x": "y"}}}, "ns")
            await client.patch(PODS, "a", {"spec": {}}, "ns", PatchKind.STRATEGIC)
            await client.patch_status(PODS, "a", {"status": {}}, "ns")

    server = ask(question, Answer(200, POD), Answer(200, POD), Answer())
    assert [asked.headers["Content-Type"] for asked in server.asked] == [
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/strategic-merge-patch+json",
    ]
    assert server.asked[-1].path == "/api/v1/namespaces/ns/pods/a/status"


def test_names_cant_leave_their_place() -> None:
    async def question(server: ScriptedServer) -> None:
        async with server.client() as client:
            await client.get(PODS, "../../secrets/s?x=1", "ns")

    server = ask(question, Answer(200, POD))
    assert server.asked[0].path == "/api/v1/namespaces/ns/pods/..%2F..%2Fsecrets%2Fs%3Fx%3D1"
