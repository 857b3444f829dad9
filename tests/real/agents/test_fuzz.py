"""Whatever agents send, over real connections: it is refused or contained, and honest ones don't notice."""

from __future__ import annotations

import asyncio
import select
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import aiohttp
import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import json
from yarl import URL

from rota.wire import agents_pb2 as wire
from tests.backends.witness import PATIENCE_S, ref
from tests.real.agents.caller import Caller, calling, hello, node
from tests.real.agents.stand import Watched, stand, task
from tests.unit.backends.agents.nonsense import hellos, nodes, numbers, refs, words

pytestmark = [pytest.mark.slow, pytest.mark.covers("agent-2", "ops-3")]

T = TypeVar("T")
few = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""Each of them is a connection."""

REFUSALS = frozenset(
    (
        None,
        grpc.StatusCode.OK,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
    )
)
"""On purpose; anything else would be an error of the server's."""


class Scene:
    """A server's side with an honest agent on it, in a loop of its own: examples come one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._beats = 0
        self._jobs = 1
        self.here: Watched
        self.honest: Caller
        self.channel: grpc.aio.Channel
        self.http: aiohttp.ClientSession
        self._parts = AsyncExitStack()

    def __enter__(self) -> Scene:
        self._thread.start()
        self.run(self._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._parts.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    async def _begin(self) -> None:
        self.here = await self._parts.enter_async_context(stand(self._folder))
        self.honest = await self._parts.enter_async_context(calling(self.here.backend.target))
        self.channel = await self._parts.enter_async_context(
            grpc.aio.insecure_channel(self.here.backend.target)
        )
        self.http = await self._parts.enter_async_context(aiohttp.ClientSession())
        self._attending = await self.honest.attend(hello("honest"))
        await self.here.backend.start([task("1", "honest")])
        await self.honest.hear(self._attending)

    async def nobody_noticed(self) -> None:
        """The honest agent is heard, and its task is as it was."""
        self._beats += 1
        beat = wire.Heartbeat(number=self._beats, node=node())
        await self._attending.write(wire.AgentNews(heartbeat=beat))
        while (order := await self.honest.hear(self._attending)).WhichOneof("order") != "acknowledged":
            pass
        assert order.acknowledged.number == self._beats
        assert ref("1") in await self.here.backend.running()
        assert not [report for report in self.here.reports if report.ref == ref("1")]

    async def say(self, method: str, messages: list[bytes]) -> grpc.StatusCode | None:
        """By a stream of its own, whatever it is that is said; what came of it. None: the stream was ended in
        the middle of a word, which is all that gRPC knows then."""
        call: Any = self.channel.stream_stream(f"/rota.agents.v1.Agents/{method}")()
        try:
            for message in messages:
                await call.write(message)
            await call.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass  # It has heard enough.
        async with asyncio.timeout(10):
            with suppress(grpc.aio.AioRpcError):
                while await call.read() is not grpc.aio.EOF:
                    pass
            code: grpc.StatusCode = await call.code()
            was_told_off = await call.details() == "Internal error from Core"
        return None if was_told_off else code

    async def liar_with_a_task(self) -> tuple[Caller, str]:
        self._jobs += 1
        job = str(self._jobs)
        caller = Caller(self.channel)
        self._lying = await caller.attend(hello("liar"))
        await self.here.backend.start([task(job, "liar")])
        await caller.hear(self._lying)
        return caller, job


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Scene(tmp_path_factory.mktemp("fuzz")) as made:
        yield made


news = st.one_of(
    st.builds(wire.AgentNews, hello=hellos),
    st.builds(wire.AgentNews, hello=st.just(hello("liar"))),
    st.builds(
        wire.AgentNews,
        heartbeat=st.builds(
            wire.Heartbeat, number=numbers, node=nodes, clock_ms=numbers, round_trip_ms=numbers
        ),
    ),
    st.builds(
        wire.AgentNews, settled=st.builds(wire.Settled, refs=st.lists(refs | st.just(wire.TaskRef(job="1"))))
    ),
    st.just(wire.AgentNews()),
)


@few
@given(st.lists(news, max_size=4))
def test_what_is_said_while_attending(scene: Scene, said: list[wire.AgentNews]) -> None:
    async def check() -> None:
        assert await scene.say("Attend", [each.SerializeToString() for each in said]) in REFUSALS
        await scene.nobody_noticed()
        for known in await scene.here.backend.nodes():
            assert known.spec.capacity.cpu_milli > 0

    scene.run(check())


small = st.binary(max_size=200)
task_news = st.one_of(
    st.builds(
        wire.TaskNews,
        output=st.builds(
            wire.Output,
            offset_bytes=numbers,
            pieces=st.lists(st.builds(wire.Output.Piece, at_ms=numbers, is_err=st.booleans(), data=small)),
        ),
    ),
    st.builds(wire.TaskNews, started=st.builds(wire.Started, at_ms=numbers)),
    st.builds(wire.TaskNews, returned=st.builds(wire.Returned, at_ms=numbers)),
    st.builds(
        wire.TaskNews,
        ended=st.builds(
            wire.Ended,
            at_ms=numbers,
            reason=words | st.sampled_from(["exited", "lost", "timed-out"]),
            exit_code=st.integers(-(2**31), 2**31 - 1),
            signal=st.integers(-(2**31), 2**31 - 1),
            message=words,
            cpu_ms=numbers,
            max_memory_bytes=numbers,
        ),
    ),
    st.just(wire.TaskNews()),
)


@few
@given(st.lists(task_news, max_size=4), st.booleans())
def test_what_is_said_of_a_task(scene: Scene, said: list[wire.TaskNews], kept: bool) -> None:
    async def check() -> None:
        liar, job = await scene.liar_with_a_task()
        opening = wire.Opening(session=liar.session, ref=wire.TaskRef(job=job, fence=1), kept=kept)
        words_ = [wire.TaskNews(opening=opening), *said]
        assert await scene.say("Perform", [each.SerializeToString() for each in words_]) in REFUSALS
        assert {report.ref.job for report in scene.here.reports} <= {str(n) for n in range(2, int(job) + 1)}
        await scene.nobody_noticed()

    scene.run(check())


@few
@given(refs | st.just(wire.TaskRef(job="1", fence=1)), words | st.just("of the liar"), st.booleans())
def test_openings_of_what_is_not_theirs(scene: Scene, task_: wire.TaskRef, session: str, kept: bool) -> None:
    async def check() -> None:
        liar, _ = await scene.liar_with_a_task()
        secret = liar.session if session == "of the liar" else session
        opening = wire.Opening(session=secret, ref=task_, kept=kept)
        code = await scene.say("Perform", [wire.TaskNews(opening=opening).SerializeToString()])
        assert code in REFUSALS
        if secret == liar.session and (task_.job, task_.rank, task_.fence) == ("1", 0, 1):
            assert code is grpc.StatusCode.PERMISSION_DENIED
        await scene.nobody_noticed()

    scene.run(check())


@few
@given(st.sampled_from(["Attend", "Perform"]), st.lists(small, min_size=1, max_size=3))
def test_bytes_that_may_be_no_messages(scene: Scene, method: str, said: list[bytes]) -> None:
    async def check() -> None:
        code = await scene.say(method, said)
        # What can't be read gRPC itself refuses, in its own words.
        assert code in REFUSALS | {
            grpc.StatusCode.INTERNAL,
            grpc.StatusCode.UNKNOWN,
            grpc.StatusCode.CANCELLED,
        }
        await scene.nobody_noticed()

    scene.run(check())


values = st.none() | st.booleans() | numbers | st.floats(allow_nan=False) | words
bodies = small | st.dictionaries(
    st.sampled_from(["ended_ms", "reason", "exit_code", "signal", "message", "cpu_ms", "output_bytes", "x"]),
    values | st.sampled_from(["exited", "lost"]),
).map(json.encode)
steps = words.filter(bool) | st.sampled_from(["..", ".", "-1", "1" * 30])
paths = st.one_of(
    st.tuples(st.just("results"), st.just("1") | steps, st.just("0") | steps, st.just("1") | steps),
    st.tuples(st.just("results"), st.just("1"), st.just("0"), st.just("1"), st.just("outputs"), steps, steps),
    st.tuples(st.just("files"), steps | st.just("0" * 64)),
)


@few
@given(st.sampled_from(["PUT", "GET", "POST"]), paths, bodies, st.booleans())
def test_what_is_asked_by_rest(
    scene: Scene, method: str, path: tuple[str, ...], body: bytes, is_known: bool
) -> None:
    async def check() -> None:
        liar, _ = await scene.liar_with_a_task()
        quoted = "/".join(quote(step, safe="") for step in path)
        url = URL(f"{scene.here.backend.rest_url}/v1/{quoted}", encoded=True)
        headers = {"Authorization": f"Bearer {liar.session if is_known else 'nonsense'}"}
        if method != "GET":
            headers["Content-Type"] = "application/json"
        async with scene.http.request(method, url, data=body, headers=headers) as answer:
            told = await answer.json(content_type=None)
        assert 400 <= answer.status < 500, (answer.status, told)
        assert told["title"]
        await scene.nobody_noticed()

    scene.run(check())


SILENT = """
import selectors, socket, sys, time
path = sys.argv[1].removeprefix("unix:")
began = time.monotonic()
waiting = selectors.DefaultSelector()
for _ in range(int(sys.argv[2])):
    one = socket.socket(socket.AF_UNIX)
    one.setblocking(False)
    while True:
        try:
            one.connect(path)
            break
        except BlockingIOError:
            # As many as the kernel holds are waiting to be accepted.
            if time.monotonic() > began + 60:
                raise
            time.sleep(0.01)
    waiting.register(one, selectors.EVENT_READ)
print("open", flush=True)
while waiting.get_map():
    for key, _ in waiting.select(timeout=60):
        try:
            said = key.fileobj.recv(4096)
        except ConnectionError:
            said = b""
        if not said:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
print(time.monotonic() - began, flush=True)
"""


def test_ten_thousand_connections_that_say_nothing(scene: Scene) -> None:
    connecting = subprocess.Popen(
        [sys.executable, "-c", SILENT, scene.here.backend.target, "10000"], stdout=subprocess.PIPE, text=True
    )
    assert connecting.stdout is not None
    try:
        while connecting.poll() is None and not _is_readable(connecting):
            scene.run(scene.nobody_noticed())
        assert connecting.stdout.readline() == "open\n"
        scene.run(scene.nobody_noticed())
        caller = scene.run(scene.liar_with_a_task())  # A newcomer gets in, too.
        assert caller is not None
        # None of them is kept for good: their time to say something ends.
        connecting.wait(2 * PATIENCE_S)
        assert connecting.returncode == 0
    finally:
        connecting.kill()
        connecting.wait()
        connecting.stdout.close()


def _is_readable(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], 0.05)[0])
