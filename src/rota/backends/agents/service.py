"""The gRPC service that agents dial: each stream from its first word to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple, NoReturn, TypeVar

import grpc
import structlog
from google.protobuf.message import DecodeError
from msgspec import Struct

from rota.backends.agents.agent import Session
from rota.backends.agents.arrivals import Arriving, NobodyListens
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.claims import Refusal, WrongProtocol, believable_ref
from rota.backends.agents.messages import INPUT, input_to, ref_from, report_from, start_to
from rota.backends.agents.pool import NameTaken, NotTheirs
from rota.backends.agents.task import AgentTask, TaskStream
from rota.backends.backend import TaskEnded, TaskStart
from rota.clock import now_ms
from rota.lifecycle.state import EndReason, TaskEnd
from rota.wire import agents_pb2 as wire
from rota.wire.agents_pb2_grpc import AgentsServicer

log = structlog.get_logger()

FIRST_WORD_WITHIN_S = 10.0
MOST_SILENT = 1_000
"""Streams at a time whose first word hasn't come."""
_BETWEEN_WORDS_S = 0.02
_SMALL_BYTES = 64 << 10
_BETWEEN_SMALL_S = 0.005


class NotAdmitted(Refusal):
    """Its certificate doesn't count."""


class NotLeading(Refusal):
    """Another server does, or may by now: it is no fault of the agent's, which is to dial that one."""


_CODES = {
    NotLeading: grpc.StatusCode.UNAVAILABLE,
    WrongProtocol: grpc.StatusCode.FAILED_PRECONDITION,
    NameTaken: grpc.StatusCode.ALREADY_EXISTS,
    NotTheirs: grpc.StatusCode.PERMISSION_DENIED,
    NotAdmitted: grpc.StatusCode.UNAUTHENTICATED,
}

M = TypeVar("M")
Context = grpc.aio.ServicerContext[Any, Any]


class Standing(NamedTuple):
    """What a connection has proved of itself."""

    name: str | None
    """The one that it is entitled to; None: whichever it gives."""
    refusal: Callable[[], str]
    """Why that counts no more; empty: it still does."""


Identify = Callable[[Context], Standing]


class RestAddress(Struct, frozen=True):
    """Where agents fetch files and leave results."""

    port: int
    is_tls: bool = False
    host: str = ""
    """Empty: the one that they dialled."""
    certificate_sha256: bytes = b""
    """The one to expect; empty: one that the agent trusts by other means."""


def by_socket(context: Context) -> Standing:
    """The kernel lets the server's own user alone connect there (`rota.trust.local_socket`): whichever name
    it gives."""
    if not context.peer().startswith("unix:"):
        raise NotAdmitted("connection: isn't by the socket of this machine; join with `rota agent join`")
    return Standing(None, str)


class AgentsService(AgentsServicer):
    def __init__(
        self,
        backend: AgentsBackend,
        rest: RestAddress,
        identify: Identify,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        """`leads`: whether this server is sure to lead. What it says to an agent then counts from when the
        agent spoke, so it does no harm if it gets there later."""
        self._backend = backend
        self._rest = rest
        self._identify = identify
        self._leads = leads
        self._silent = 0

    # -- one for each agent

    async def Attend(  # noqa: N802 – the name in the .proto
        self, request_iterator: AsyncIterator[wire.AgentNews], context: Context
    ) -> AsyncIterator[wire.AgentOrders]:
        first = await self._first_word(request_iterator, context)
        hello = first.hello
        try:
            self._check_leads()
            standing = self._identified(hello.name, context)
            session = self._backend.greet(hello)
        except Refusal as refusal:
            await self._refuse(refusal, hello.name, context)
        listening = asyncio.create_task(self._listen(session, standing, request_iterator))
        # Whatever ends the one ends the other.
        listening.add_done_callback(lambda _: session.orders.put_nowait(None))
        try:
            yield self._welcome(session)
            while (order := await session.orders.get()) is not None:
                yield order
            if listening.done() and isinstance(refusal_ := listening.exception(), Refusal):
                await self._refuse(refusal_, hello.name, context)
        finally:
            is_polite = listening.done() and not listening.cancelled() and listening.exception() is None
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            self._backend.left(session, for_good=is_polite)

    def _welcome(self, session: Session) -> wire.AgentOrders:
        terms = self._backend.terms
        welcome = wire.Welcome(
            session=session.secret,
            heartbeat_ms=terms.heartbeat_ms,
            lease_ms=terms.lease_ms,
            grace_ms=terms.grace_ms,
            clock_ms=now_ms(),
            rest_port=self._rest.port,
            rest_tls=self._rest.is_tls,
            rest_host=self._rest.host,
            rest_certificate_sha256=self._rest.certificate_sha256,
        )
        return wire.AgentOrders(welcome=welcome)

    async def _listen(
        self, session: Session, standing: Standing, news: AsyncIterator[wire.AgentNews]
    ) -> None:
        async for each in news:
            if session.is_closed:
                raise ConnectionAbortedError("this connection counts for nothing any more")
            self._check_leads()
            _check_standing(standing)
            match each.WhichOneof("news"):
                case "heartbeat":
                    self._backend.heartbeat(session, each.heartbeat)
                    known = wire.Acknowledged(number=each.heartbeat.number, clock_ms=now_ms())
                    session.orders.put_nowait(wire.AgentOrders(acknowledged=known))
                case "settled":
                    self._backend.forgotten(session, [ref_from(ref) for ref in each.settled.refs])
                case "hello":
                    raise Refusal("hello: said twice; a connection begins with it, and never again")
            # Whoever says more than can be of interest is heard at this rate, and waits.
            await asyncio.sleep(_BETWEEN_WORDS_S)

    # -- one for each task

    async def Perform(  # noqa: N802 – the name in the .proto
        self, request_iterator: AsyncIterator[wire.TaskNews], context: Context
    ) -> AsyncIterator[wire.TaskOrders]:
        opening = (await self._first_word(request_iterator, context)).opening
        session = self._backend.session_of(opening.session)
        if session is None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "session: unknown, or over; attend first")
        try:
            self._check_leads()
            ref = believable_ref(opening.ref)
            if self._backend.is_of_another(session, ref):
                raise NotTheirs(f"task {ref.rank} of job {ref.job} is another agent's")
        except Refusal as refusal:
            await self._refuse(refusal, session.agent.name, context)
        task = await self._backend.wanted(session, ref, is_kept=opening.kept)
        if task is None:
            yield wire.TaskOrders(revoke=wire.Revoke())
            return
        stream = await _take_place(task)
        try:
            output = await self._backend.arriving(task)
            accepted = self._accepted(session, task, opening.kept, output.offset_bytes)
            if accepted is None:
                yield wire.TaskOrders(revoke=wire.Revoke())
                return
            yield accepted
            await task.wrote(output.offset_bytes)
            listening = asyncio.create_task(self._hear(session, task, output, request_iterator))
            listening.add_done_callback(lambda _: stream.wake.set())
            try:
                async for order in _orders(task, stream, listening):
                    yield order
                failure = listening.exception() if listening.done() else None
                if isinstance(failure, Refusal):
                    await self._refuse(failure, session.agent.name, context)
                if stream.is_broken or isinstance(failure, NobodyListens):
                    await context.abort(grpc.StatusCode.UNAVAILABLE, "open another stream of this task")
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
                await output.close()
        finally:
            stream.finished.set()

    def _accepted(
        self, session: Session, task: AgentTask, is_kept: bool, output_bytes: int
    ) -> wire.TaskOrders | None:
        """None: it can't be sent, and has ended so."""
        accepted = wire.Accepted(output_bytes=output_bytes)
        if not is_kept:
            assert task.start is not None
            try:
                check_input(session, task.start)
                accepted.start.CopyFrom(start_to(task.start, session.agent.clock.server_ahead_ms))
            except ValueError as error:
                end = TaskEnd(EndReason.NOT_STARTED, message=f"it can't be sent to an agent: {error}")
                self._backend.hear_of(task, TaskEnded(task.ref, now_ms(), end))
                return None
        return wire.TaskOrders(accepted=accepted)

    async def _hear(
        self,
        session: Session,
        task: AgentTask,
        output: Arriving,
        news: AsyncIterator[wire.TaskNews],
    ) -> None:
        async for each in news:
            self._check_leads()
            if task.server_ahead_ms is None:
                task.server_ahead_ms = session.agent.clock.server_ahead_ms
            if each.WhichOneof("news") == "output":
                await output.take(each.output, task.server_ahead_ms)
                await task.wrote(output.offset_bytes)
                if each.ByteSize() < _SMALL_BYTES:
                    # There was time to send more at once.
                    await asyncio.sleep(_BETWEEN_SMALL_S)
                continue
            if each.WhichOneof("news") == "input_taken":
                task.input.taken(each.input_taken)
                continue
            try:
                report = report_from(task.ref, each, task.server_ahead_ms)
            except ValueError as error:
                raise Refusal(f"ended.reason: {error}") from None
            if report is None:
                raise Refusal("a stream of a task has one opening, its first word")
            self._backend.hear_of(task, report)

    # -- whom to talk to

    async def _first_word(self, news: AsyncIterator[M], context: Context) -> M:
        if self._silent >= MOST_SILENT:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many who haven't said who they are")
        self._silent += 1
        try:
            async with asyncio.timeout(FIRST_WORD_WITHIN_S):
                return await anext(news)
        except (TimeoutError, StopAsyncIteration):
            self._backend.notices.refused(context.peer(), "it didn't say who it is", now_ms())
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "say who you are first")
        except DecodeError:
            # gRPC would write a traceback to the log for each of these.
            await self._refuse(Refusal("the first message can't be read"), "", context)
        finally:
            self._silent -= 1

    def _check_leads(self) -> None:
        if not self._leads():
            raise NotLeading("this server doesn't lead any more; dial the others")

    def _identified(self, name: str, context: Context) -> Standing:
        standing = self._identify(context)
        if standing.name not in (None, name):
            raise NameTaken(f"name: {name} isn't the one that the certificate is for, {standing.name}")
        _check_standing(standing)
        return standing

    async def _refuse(self, refusal: Refusal, name: str, context: Context) -> NoReturn:
        log.warning("agent.refused", agent=name, peer=context.peer(), why=str(refusal))
        if not isinstance(refusal, NotLeading):
            self._backend.notices.refused(name[:253] or context.peer(), str(refusal), now_ms())
        code = _CODES.get(type(refusal), grpc.StatusCode.INVALID_ARGUMENT)
        await context.abort(code, str(refusal))


def check_input(session: Session, start: TaskStart) -> None:
    """An agent of before would start it with nothing to read, which looks like all is well. Raises
    ValueError."""
    if start.run.takes_input and INPUT not in session.hello.features:
        version = session.hello.version[:100] or "unknown"
        raise ValueError(
            f"the agent of {session.agent.name} (Rota {version}) passes no input on; upgrade it, "
            "or run the job elsewhere"
        )


def _check_standing(standing: Standing) -> None:
    if refusal := standing.refusal():
        raise NotAdmitted(f"certificate: {refusal}; join again with `rota agent join`")


async def _take_place(task: AgentTask) -> TaskStream:
    """Of the stream before, once all that came by it is written."""
    stream = TaskStream()
    before, task.stream = task.stream, stream
    if before is not None:
        before.close()
        await before.finished.wait()
    return stream


async def _orders(
    task: AgentTask, stream: TaskStream, listening: asyncio.Task[None]
) -> AsyncIterator[wire.TaskOrders]:
    """Until its end is settled, or nobody listens any more. All that is wanted is said once a stream."""
    was_told_to_stop, told_limit_ms, said_input = False, None, 0
    while not (task.settled.is_set() or stream.is_closed or listening.done()):
        stream.wake.clear()
        if task.is_to_stop and not was_told_to_stop:
            was_told_to_stop = True
            yield wire.TaskOrders(stop=wire.Stop())
        elif task.new_limit_ms is not None and task.new_limit_ms != told_limit_ms:
            told_limit_ms = task.new_limit_ms
            yield wire.TaskOrders(change_limit=wire.ChangeLimit(time_limit_ms=told_limit_ms))
        elif (piece := task.input.unsaid(said_input)) is not None:
            said_input = task.input.number
            yield input_to(said_input, piece)
        else:
            await stream.wake.wait()
