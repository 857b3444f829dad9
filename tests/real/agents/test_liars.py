"""Agents that say what can't be true: refused or contained, told of by name, and others don't notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from yarl import URL

from rota.backends.agents import service
from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskEnded, TaskStarted
from rota.lifecycle.state import EndReason
from rota.model.ids import NodeName
from rota.model.run import InputFile, Run
from rota.wire import agents_pb2 as wire
from tests.backends.witness import PATIENCE_S, ref
from tests.real.agents.caller import Caller, calling, hello, node
from tests.real.agents.stand import stand, task

pytestmark = [pytest.mark.slow, pytest.mark.covers("agent-2", "ops-3")]


@pytest.mark.parametrize(
    ("said", "code", "field"),
    [
        (hello(node=node(cpu_milli=-1)), grpc.StatusCode.INVALID_ARGUMENT, "cpu_milli"),
        (hello(node=node(memory_bytes=2**62)), grpc.StatusCode.INVALID_ARGUMENT, "memory_bytes"),
        (hello(node=node(slots=0)), grpc.StatusCode.INVALID_ARGUMENT, "slots"),
        (hello(protocol=99), grpc.StatusCode.FAILED_PRECONDITION, "upgrade the server"),
        (hello(protocol=0), grpc.StatusCode.FAILED_PRECONDITION, "upgrade the agent"),
        (hello("../../etc"), grpc.StatusCode.INVALID_ARGUMENT, "name"),
        (hello(""), grpc.StatusCode.INVALID_ARGUMENT, "name"),
        (hello("x" * 1000), grpc.StatusCode.INVALID_ARGUMENT, "name"),
        (hello("liar", ref("../1")), grpc.StatusCode.INVALID_ARGUMENT, "ref"),
        (hello("liar", ref("1", rank=-1)), grpc.StatusCode.INVALID_ARGUMENT, "ref"),
        (hello("liar", ref("1", fence=0)), grpc.StatusCode.INVALID_ARGUMENT, "ref"),
    ],
)
async def test_a_hello_that_cannot_be(
    tmp_path: Path, said: wire.Hello, code: grpc.StatusCode, field: str
) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await caller.attend(said)
        assert refused.value.code() is code
        assert field in str(refused.value.details())
        notice = await here.notice("agent.Refused")
        assert field in str(notice.data["why"])
        assert said.name[:253] in (notice.agent, "")
        assert await here.backend.nodes() == []


async def test_another_machine_with_a_name_that_is_taken(tmp_path: Path) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as one:
        await one.attend(hello("a"))
        async with calling(here.backend.target) as other:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await other.attend(hello("a", instance="another"))
        assert refused.value.code() is grpc.StatusCode.ALREADY_EXISTS
        assert (await here.notice("agent.Refused")).agent == "a"
        await here.backend.has_ready(NodeName("a"))


async def test_a_capacity_that_turns_negative_ends_the_connection(tmp_path: Path) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        call = await caller.attend(hello())
        await call.write(wire.AgentNews(heartbeat=wire.Heartbeat(number=1, node=node())))
        assert (await caller.hear(call)).acknowledged.number == 1
        await call.write(wire.AgentNews(heartbeat=wire.Heartbeat(number=2, node=node(cpu_milli=-5))))
        code, why = await caller.refused(call)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert "cpu_milli" in why
        [known] = await here.backend.nodes()
        assert known.spec.capacity.cpu_milli == 1000


async def test_a_task_of_another_agent_is_out_of_reach(tmp_path: Path) -> None:
    async with (
        stand(tmp_path) as here,
        calling(here.backend.target) as honest,
        calling(here.backend.target) as liar,
    ):
        await honest.attend(hello("honest"))
        await here.backend.start([task("1", "honest")])
        # That it is in the liar's hello doesn't make it the liar's.
        await liar.attend(hello("liar", ref("1")))
        call, _ = await liar.perform(ref("1"))
        code, why = await liar.refused(call)
        assert code is grpc.StatusCode.PERMISSION_DENIED
        assert "another agent's" in why
        assert (await here.notice("agent.Refused")).agent == "liar"
        performing, first = await honest.perform(ref("1"), kept=False)
        assert first.accepted.start.run.command == ["true"]
        ended = wire.Ended(at_ms=5, reason="exited", exit_code=0)
        await performing.write(wire.TaskNews(ended=ended))
        assert (await here.end_of(ref("1"))).end.succeeded
        assert len(here.reports) == 1


async def test_a_task_that_nobody_wants_is_revoked_and_never_reported(tmp_path: Path) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        await caller.attend(hello("liar", ref("7")))
        call, first = await caller.perform(ref("7"))
        assert first.WhichOneof("order") == "revoke"
        assert await caller.hear(call) is grpc.aio.EOF
        await here.backend.start([task("8", "liar")])
        other, _ = await caller.perform(ref("8"), kept=False)
        await other.write(wire.TaskNews(ended=wire.Ended(reason="exited")))
        await here.end_of(ref("8"))
        assert {report.ref for report in here.reports} == {ref("8")}


@pytest.mark.parametrize(
    ("news", "field"),
    [
        (wire.TaskNews(ended=wire.Ended(reason="bliss")), "reason"),
        (wire.TaskNews(output=wire.Output(offset_bytes=-1)), "offset_bytes"),
        (wire.TaskNews(output=wire.Output(offset_bytes=2**62)), "offset_bytes"),
        (wire.TaskNews(opening=wire.Opening()), "opening"),
        (wire.TaskNews(), "opening"),
    ],
)
async def test_news_of_a_task_that_cannot_be(tmp_path: Path, news: wire.TaskNews, field: str) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        await caller.attend(hello())
        await here.backend.start([task("1", "liar")])
        call, _ = await caller.perform(ref("1"), kept=False)
        await call.write(news)
        code, why = await caller.refused(call)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert field in why
        assert here.reports == []


async def test_bytes_that_are_no_message_end_that_call_alone(tmp_path: Path) -> None:
    async with stand(tmp_path) as here, calling(here.backend.target) as honest:
        attending = await honest.attend(hello("honest"))
        async with grpc.aio.insecure_channel(here.backend.target) as channel:
            call: Any = channel.stream_stream("/rota.agents.v1.Agents/Attend")()
            # A name that isn't UTF-8.
            await call.write(b"\x0a\x04\x1a\x02\xff\xfe")
            async with asyncio.timeout(PATIENCE_S):
                assert await call.code() is not grpc.StatusCode.OK
        await attending.write(wire.AgentNews(heartbeat=wire.Heartbeat(number=1, node=node())))
        assert (await honest.hear(attending)).acknowledged.number == 1


async def test_who_says_nothing_is_sent_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_WORD_WITHIN_S", 0.3)
    monkeypatch.setattr(service, "MOST_SILENT", 3)

    async with stand(tmp_path) as here, calling(here.backend.target) as caller:
        silent: list[Any] = [caller._stub.Attend() for _ in range(6)]
        codes = [(await caller.refused(call))[0] for call in silent]
        assert set(codes) == {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert "who it is" in str((await here.notice("agent.Refused")).data["why"])
        await caller.attend(hello("honest"))
        await here.backend.has_ready(NodeName("honest"))


async def test_one_that_falls_silent_is_lost_and_its_late_word_counts_for_nothing(tmp_path: Path) -> None:
    terms = Terms(3_000)
    async with stand(tmp_path, terms) as here, calling(here.backend.target) as caller:
        attending = await caller.attend(hello("a"))
        await here.backend.start([task("1", "a")])
        performing, _ = await caller.perform(ref("1"), kept=False)
        await performing.write(wire.TaskNews(started=wire.Started(at_ms=1)))
        await here.started(ref("1"))
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, "2.85 s" in end.message) == (EndReason.LOST, True)
        assert await here.backend.nodes() == []
        assert await caller.hear(attending) is not None
        session = caller.session
        again = await caller.attend(hello("a", ref("1")))
        for secret in (session, None):
            call, answer = await caller.perform(ref("1"), session=secret)
            if secret is None:
                assert answer.WhichOneof("order") == "revoke"
            else:
                assert (await caller.refused(call))[0] is grpc.StatusCode.UNAUTHENTICATED
        again.cancel()
        assert [type(report) for report in here.reports].count(TaskEnded) == 1


async def test_by_rest_only_what_is_theirs(tmp_path: Path) -> None:
    async with (
        stand(tmp_path) as here,
        calling(here.backend.target) as honest,
        calling(here.backend.target) as liar,
        aiohttp.ClientSession() as http,
    ):

        async def content() -> AsyncIterator[bytes]:
            yield b"input"

        stored = await here.backend.uploads.put(content())
        file = InputFile("in", stored.sha256, stored.size_bytes)
        url = here.backend.rest_url
        await honest.attend(hello("honest"))
        await liar.attend(hello("liar"))
        await here.backend.start([task("1", "honest", Run(command=("true",), files=(file,)))])
        result = {"ended_ms": 5, "reason": "exited", "exit_code": 0}
        asks = [
            ("GET", f"/v1/files/{stored.sha256}", None, {"honest": 200, "liar": 404, "": 401}),
            ("PUT", "/v1/results/1/0/1/outputs/a/b", b"left", {"honest": 200, "liar": 409, "": 401}),
            ("PUT", "/v1/results/1/0/1/outputs/%2e%2e/b", b"left", {"honest": 422, "liar": 409, "": 401}),
            ("PUT", f"/v1/results/1/0/1/outputs/{'a' * 300}", b"left", {"honest": 422}),
            ("PUT", f"/v1/results/1/0/1/outputs/{'a/' * 2500}b", b"left", {"honest": 422}),
            ("PUT", "/v1/results/1/0/1/outputs/a", b"left", {"honest": 422}),
            ("PUT", "/v1/results/1/0/1/outputs/a/b/c", b"left", {"honest": 422}),
            ("PUT", "/v1/results/1/0/2", result, {"honest": 409, "liar": 409, "": 401}),
            ("PUT", "/v1/results/1/0/1", {**result, "exit_code": 999}, {"honest": 422, "liar": 422}),
            ("PUT", "/v1/results/1/0/1", result, {"liar": 409, "": 401, "honest": 202}),
        ]
        secrets = {"honest": honest.session, "liar": liar.session, "": "nonsense"}
        for method, path, body, wanted in asks:
            for who, status in wanted.items():
                answer = await _ask(http, method, url + path, body, secrets[who])
                assert (who, path, answer) == (who, path, status)
        assert await here.left("1", "a/b") == b"left"
        assert (await here.end_of(ref("1"))).end.succeeded
        assert len(here.reports) == 1


@pytest.mark.covers("agent-4")
async def test_a_result_that_overtakes_the_stream_says_when_the_task_started(tmp_path: Path) -> None:
    """What ran is charged for, though its end is all that was heard of it."""

    async with (
        stand(tmp_path) as here,
        calling(here.backend.target) as caller,
        aiohttp.ClientSession() as http,
    ):
        await caller.attend(hello("honest"))
        await here.backend.start([task("1", "honest")])
        now_ms = time.time_ns() // 1_000_000
        result = {
            "started_ms": now_ms + 60_000,
            "ended_ms": now_ms + 61_000,
            "reason": "exited",
            "exit_code": 0,
        }
        url = f"{here.backend.rest_url}/v1/results/1/0/1"
        assert await _ask(http, "PUT", url, result, caller.session) == 202
        ended = await here.end_of(ref("1"))
        assert here.kinds(ref("1")) == [TaskStarted, TaskEnded]
        assert ended.at_ms - here.reports[0].at_ms == 1000


async def _ask(http: aiohttp.ClientSession, method: str, url: str, body: object, secret: str) -> int:
    headers = {"Authorization": f"Bearer {secret}"}
    given: dict[str, Any] = {"json": body} if isinstance(body, dict) else {"data": body}
    async with http.request(method, URL(url, encoded=True), headers=headers, **given) as answer:
        await answer.read()
        return answer.status


async def test_a_flood_of_output_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with (
        stand(tmp_path) as here,
        calling(here.backend.target) as honest,
        calling(here.backend.target) as flooding,
    ):
        attending = await honest.attend(hello("honest"))
        await flooding.attend(hello("flooding"))
        await here.backend.start([task("1", "flooding")])
        call, _ = await flooding.perform(ref("1"), kept=False)
        flood = asyncio.create_task(_flood(flooding, call))
        for number in range(1, 6):
            await attending.write(wire.AgentNews(heartbeat=wire.Heartbeat(number=number, node=node())))
            assert (await honest.hear(attending)).acknowledged.number == number
        sent_bytes = await flood
        await call.write(wire.TaskNews(ended=wire.Ended(reason="exited", exit_code=0)))
        await here.end_of(ref("1"))
        chunks = await here.chunks("1")
        assert sum(len(chunk.data) for chunk in chunks) == sent_bytes
        assert {chunk.data[:1] for chunk in chunks} == {b"\xff"}


async def _flood(caller: Caller, call: Any) -> int:
    piece = wire.Output.Piece(at_ms=1, data=b"\xff\n" * 100_000)
    sent_bytes = 0
    for _ in range(100):
        await call.write(wire.TaskNews(output=wire.Output(offset_bytes=sent_bytes, pieces=[piece])))
        sent_bytes += len(piece.data)
    return sent_bytes
