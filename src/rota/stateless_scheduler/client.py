"""For controllers: a connection to a scheduler that is kept up, and what is to be done with what it says.

    your Ledger ──unfinished──► SchedulerClient ──► rota scheduler
                ◄── placed, running, output, files, ended: each returns when it is recorded

The scheduler keeps nothing, so the ledger must: on disk, if the controller is to survive a restart.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import grpc
import structlog
from msgspec import Struct, json

from rota import __version__
from rota.patience.backoff import Backoff
from rota.wire import controllers_pb2 as wire
from rota.wire.controllers_pb2_grpc import ControllersStub

if TYPE_CHECKING:
    from grpc.aio import StreamStreamCall

    Call = StreamStreamCall[wire.ControllerNews, wire.SchedulerNews]

log = structlog.get_logger()

PROTOCOL = 1
_PAUSES = Backoff(first_s=0.3, longest_s=15.0)
_ACTIONS_A_MESSAGE = 500
_LARGE_BYTES = 2 << 20
_REFUSALS = (
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNAUTHENTICATED,
)
_OPTIONS = (
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.keepalive_time_ms", 15_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)


class Placement(Struct, frozen=True):
    """Which start of an action, and where."""

    action: str
    fence: int
    node: str
    gpu_devices: tuple[int, ...] = ()


class InlineFile(Struct, frozen=True):
    path: str
    data: bytes
    executable: bool = False


class Action(Struct, frozen=True):
    """One that isn't over, as the ledger knows it."""

    id: str
    job: Mapping[str, Any]
    """As `POST /v1/jobs` takes one, of one task."""
    files: tuple[InlineFile, ...] = ()
    submitted_ms: int = 0
    placement: Placement | None = None
    """The latest that was recorded; None: it waits."""
    output_bytes: int = 0
    """So much of its output under that fence is recorded."""
    last_fence: int = 0
    """The highest of all placements that were ever recorded, also if it waits again; 0: there was none."""


class Piece(Struct, frozen=True):
    at_ms: int
    is_err: bool
    data: bytes


class Output(Struct, frozen=True):
    """What an action wrote, byte for byte."""

    action: str
    fence: int
    offset_bytes: int
    """How much it had written before. More than was told so far: there is a gap, its agent had no room."""
    pieces: tuple[Piece, ...]


class FilePart(Struct, frozen=True):
    """Of a file that it left; the parts come in order, and all of them again if the connection breaks."""

    action: str
    fence: int
    path: str
    offset_bytes: int
    data: bytes
    is_last: bool


class Ended(Struct, frozen=True):
    action: str
    fence: int
    outcome: str
    """`succeeded`, `failed`, `cancelled` or `timed-out`."""
    reason: str
    exit_code: int | None
    signal: int | None
    message: str
    cpu_ms: int
    max_memory_bytes: int
    started_ms: int | None
    ended_ms: int


class Refused(Struct, frozen=True):
    """Nothing has changed. Without an action it is about none in particular."""

    action: str
    field: str
    problem: str
    remedy: str


class Ledger(Protocol):
    """What a controller does with what it is told. Nothing more is read meanwhile: one that takes its time
    slows its own actions down. All may be told again after a connection broke."""

    def unfinished(self) -> Iterable[Action]:
        """All that isn't over: asked at each connection, and said to the scheduler."""

    async def placed(self, placements: Sequence[Placement]) -> None:
        """To be recorded: when this returns, the scheduler may start them."""

    async def waiting(self, actions: Sequence[str], reason: str) -> None:
        """If they were placed, that counts no more: they are waiting again, and placed nowhere."""

    async def running(self, action: str, fence: int, at_ms: int) -> None: ...

    async def output(self, output: Output) -> None: ...

    async def file(self, part: FilePart) -> None: ...

    async def ended(self, ended: Ended) -> None:
        """To be recorded, with all that came before: when this returns, nobody else knows any more."""

    async def refused(self, refused: Refused) -> None: ...


class Line(Protocol):
    """One connection to a scheduler: `ControllersAsyncStub` is one."""

    def Direct(self) -> Call: ...  # noqa: N802 – the name in the .proto


Dial = Callable[[], AbstractAsyncContextManager[Line]]


class SchedulerRefused(Exception):
    """The scheduler won't have this controller; the text says why, and what to do."""


class SchedulerClient:
    """Works while `run` does."""

    def __init__(
        self,
        target: str,
        name: str,
        token: str,
        ledger: Ledger,
        *,
        ca: bytes | None = None,
        dial: Dial | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`ca`: who vouches for the scheduler, PEM; None: it is on this machine, without TLS. `dial`: another
        way there than gRPC's own."""
        self._target = target
        self._hello = wire.Hello(protocol=PROTOCOL, version=__version__, name=name, token=token)
        self._ledger = ledger
        self._dial = dial or _by_grpc(target, ca)
        self._chance = chance
        self._said: asyncio.Queue[wire.ControllerNews] | None = None
        self._asked: dict[str, list[asyncio.Future[dict[str, Any]]]] = {}

    @property
    def is_connected(self) -> bool:
        return self._said is not None

    async def run(self) -> None:
        """Until it is cancelled. Connections that break are made again. Raises SchedulerRefused."""
        failures = 0
        while True:
            try:
                async with self._dial() as line, aclosing(self._converse(line)) as said:
                    async for news in said:
                        failures = 0
                        await self._hear(news)
            except grpc.aio.AioRpcError as error:
                if error.code() in _REFUSALS:
                    raise SchedulerRefused(error.details()) from None
                log.warning("controller.not_connected", scheduler=self._target, why=error.details())
            finally:
                self._said = None
            failures += 1
            await asyncio.sleep(_PAUSES.pause_s(failures, self._chance()))

    def submit(self, actions: Sequence[Action]) -> None:
        """They are in the ledger by now: should the connection break, they are said again from there."""
        for message in _submits(actions):
            self._say(wire.ControllerNews(submit=message))

    def cancel(self, actions: Sequence[str], message: str = "") -> None:
        """Without a connection nothing happens: ask again."""
        self._say(wire.ControllerNews(cancel=wire.Cancel(actions=actions, message=message)))

    async def why(self, action: str) -> dict[str, Any]:
        """What `rota why -o json` prints, of one that isn't over. Raises ConnectionError, and LookupError."""
        if not self.is_connected:
            raise ConnectionError("there is no connection to the scheduler")
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(action, []).append(answer)
        self._say(wire.ControllerNews(ask=wire.Ask(action=action)))
        return await answer

    def _say(self, news: wire.ControllerNews) -> None:
        if self._said is not None:
            self._said.put_nowait(news)

    async def _converse(self, line: Line) -> AsyncGenerator[wire.SchedulerNews, None]:
        said: asyncio.Queue[wire.ControllerNews] = asyncio.Queue()
        said.put_nowait(wire.ControllerNews(hello=self._hello))
        call = line.Direct()
        writing = asyncio.create_task(_write(call, said))
        try:
            async for news in call:
                if news.HasField("welcome"):
                    # From now on what is submitted is said at once, and all there is before it.
                    self._said = said
                    self.submit(list(self._ledger.unfinished()))
                    self._say(wire.ControllerNews(submit=wire.Submit(complete=True)))
                else:
                    yield news
        finally:
            writing.cancel()
            call.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            self._no_answers(ConnectionError("the connection to the scheduler broke"))

    async def _hear(self, news: wire.SchedulerNews) -> None:
        match news.WhichOneof("news"):
            case "placed":
                await self._ledger.placed([_placement(one) for one in news.placed.placements])
                refs = [wire.ActionRef(action=one.action, fence=one.fence) for one in news.placed.placements]
                self._say(wire.ControllerNews(recorded=wire.Recorded(refs=refs)))
            case "ended":
                await self._ledger.ended(_ended(news.ended))
                self._say(wire.ControllerNews(kept=wire.Kept(refs=[news.ended.ref])))
            case "output":
                await self._ledger.output(_output(news.output))
            case "file":
                await self._ledger.file(_part(news.file))
            case "running":
                ref = news.running.ref
                await self._ledger.running(ref.action, ref.fence, news.running.at_ms)
            case "waiting":
                await self._ledger.waiting(list(news.waiting.actions), news.waiting.reason)
            case "why":
                self._answer(news.why.action, json.decode(news.why.document))
            case "refused":
                said = news.refused
                if said.field == "action":
                    self._no_answers(LookupError(f"{said.action}: {said.problem}"), said.action)
                await self._ledger.refused(Refused(said.action, said.field, said.problem, said.remedy))

    def _answer(self, action: str, document: dict[str, Any]) -> None:
        for answer in self._asked.pop(action, ()):
            if not answer.done():
                answer.set_result(document)

    def _no_answers(self, error: Exception, *actions: str) -> None:
        for action in actions or tuple(self._asked):
            for answer in self._asked.pop(action, ()):
                if not answer.done():
                    answer.set_exception(error)


def _by_grpc(target: str, ca: bytes | None) -> Dial:
    @asynccontextmanager
    async def dial() -> AsyncIterator[Line]:
        if ca is None:
            channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        else:
            channel = grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(ca), options=_OPTIONS)
        async with channel:
            yield ControllersStub(channel)

    return dial


async def _write(call: Call, said: asyncio.Queue[wire.ControllerNews]) -> None:
    while True:
        await call.write(await said.get())


def _submits(actions: Iterable[Action]) -> Iterator[wire.Submit]:
    message, size_bytes = wire.Submit(), 0
    for action in actions:
        added = _action(action)
        size_bytes += added.ByteSize()
        if message.actions and (size_bytes > _LARGE_BYTES or len(message.actions) >= _ACTIONS_A_MESSAGE):
            yield message
            message, size_bytes = wire.Submit(), added.ByteSize()
        message.actions.append(added)
    if message.actions:
        yield message


def _action(action: Action) -> wire.Action:
    said = wire.Action(
        id=action.id,
        job=json.encode(action.job).decode(),
        files=[
            wire.InlineFile(path=file.path, data=file.data, executable=file.executable)
            for file in action.files
        ],
        submitted_ms=action.submitted_ms,
        output_bytes=action.output_bytes,
        last_fence=action.last_fence,
    )
    if (place := action.placement) is not None:
        said.placement.CopyFrom(
            wire.Placement(
                action=action.id, fence=place.fence, node=place.node, gpu_devices=place.gpu_devices
            )
        )
    return said


def _placement(said: wire.Placement) -> Placement:
    return Placement(said.action, said.fence, said.node, tuple(said.gpu_devices))


def _output(said: wire.Output) -> Output:
    pieces = tuple(Piece(one.at_ms, one.is_err, one.data) for one in said.output.pieces)
    return Output(said.ref.action, said.ref.fence, said.output.offset_bytes, pieces)


def _part(said: wire.OutputFile) -> FilePart:
    return FilePart(said.ref.action, said.ref.fence, said.path, said.offset_bytes, said.data, said.is_last)


def _ended(said: wire.Ended) -> Ended:
    return Ended(
        said.ref.action,
        said.ref.fence,
        said.outcome,
        said.reason,
        said.exit_code if said.HasField("exit_code") else None,
        said.signal if said.HasField("signal") else None,
        said.message,
        said.cpu_ms,
        said.max_memory_bytes,
        said.started_ms if said.HasField("started_ms") else None,
        said.ended_ms,
    )
