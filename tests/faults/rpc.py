"""Calls of gRPC over simulated connections: what production code sees of them, on either side.

A call is a stream of messages in each direction. It ends with a status by the server, by a word of the
client, or with its connection: then the client learns that there is none, and the server's handler is
cancelled and reads no more, whichever comes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextvars import Context, copy_context
from itertools import count
from typing import Any, Generic, NoReturn, TypeVar

import grpc
from msgspec import Struct

from tests.faults.sockets import Body, Host, Socket

Said = TypeVar("Said")
Heard = TypeVar("Heard")


class Begin(Struct, frozen=True):
    call: int
    method: str


class Data(Struct, frozen=True):
    call: int
    data: bytes


class SaidAll(Struct, frozen=True):
    """The client has."""

    call: int


class Cancel(Struct, frozen=True):
    call: int


class Status(Struct, frozen=True):
    """The last word of the server."""

    call: int
    code: str
    details: str


# -- the server's side


class Aborted(Exception):
    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code


class CallContext:
    """As much of `grpc.aio.ServicerContext` as services use."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        return self._peer

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn:
        raise Aborted(code, details)


class Kind(Struct, Generic[Said, Heard], frozen=True):
    """Of calls: its name, and what goes to and fro, as bytes."""

    name: str
    write_request: Callable[[Said], bytes]
    read_request: Callable[[bytes], Said]
    write_answer: Callable[[Heard], bytes]
    read_answer: Callable[[bytes], Heard]


class Method(Struct, frozen=True):
    kind: Kind[Any, Any]
    handle: Callable[[Any, Any], AsyncIterator[Any]]
    """Of a servicer: (requests, context) to answers."""


class _Requests:
    """What a client says, for a handler to iterate over."""

    def __init__(self, read: Callable[[bytes], Any]) -> None:
        self._read = read
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(self, data: bytes | None) -> None:
        self._queue.put_nowait(data)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        data = await self._queue.get()
        if data is None:
            self._queue.put_nowait(None)
            raise StopAsyncIteration
        return self._read(data)


class RpcServer:
    """Of one process, at one port."""

    def __init__(self, host: Host, port: str, methods: Sequence[Method]) -> None:
        self._loop = host.loop
        self._methods = {method.kind.name: method for method in methods}
        host.listen(port, copy_context(), self._accept)

    def _accept(self, socket: Socket) -> None:
        _Visitor(socket, self._loop, self._methods)


class _Visitor:
    """One connection of a client."""

    def __init__(
        self, socket: Socket, loop: asyncio.AbstractEventLoop, methods: Mapping[str, Method]
    ) -> None:
        self._socket = socket
        self._loop = loop
        self._methods = methods
        self._calls: dict[int, tuple[asyncio.Task[None], _Requests]] = {}
        socket.on_body = self._heard
        socket.on_lost = self._lost

    def _heard(self, said: Body) -> None:
        match said:
            case Begin(call, name):
                method = self._methods[name]
                requests = _Requests(method.kind.read_request)
                task = self._loop.create_task(self._handle(call, method, requests))
                self._calls[call] = task, requests
                task.add_done_callback(lambda _: self._calls.pop(call, None))
            case Data(call, data):
                self._hand(call, data)
            case SaidAll(call):
                self._hand(call, None)
            case Cancel(call):
                self._end(call)

    def _hand(self, call: int, data: bytes | None) -> None:
        if call in self._calls:
            self._calls[call][1].put(data)

    async def _handle(self, call: int, method: Method, requests: _Requests) -> None:
        status = Status(call, grpc.StatusCode.OK.name, "")
        try:
            async for answer in method.handle(requests, CallContext(self._socket.peer)):
                self._socket.put(Data(call, method.kind.write_answer(answer)))
        except Aborted as aborted:
            status = Status(call, aborted.code.name, str(aborted))
        except Exception as error:
            self._loop.call_exception_handler({"message": f"a handler failed: {error!r}", "exception": error})
            status = Status(call, grpc.StatusCode.UNKNOWN.name, repr(error))
        self._socket.put(status)

    def _lost(self) -> None:
        for call in list(self._calls):
            self._end(call)

    def _end(self, call: int) -> None:
        if call in self._calls:
            task, requests = self._calls[call]
            self._loop.call_soon(requests.put, None)
            self._loop.call_soon(task.cancel)


# -- the client's side


class Call(Generic[Said, Heard]):
    """As much of `grpc.aio.StreamStreamCall` as clients use."""

    def __init__(self, channel: Channel, number: int, kind: Kind[Said, Heard], socket: Socket) -> None:
        self.socket = socket
        self._channel = channel
        self._number = number
        self._kind = kind
        self._answers: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._status: Status | None = None
        self._is_cancelled = False

    async def write(self, said: Said) -> None:
        self._check()
        self.socket.put(Data(self._number, self._kind.write_request(said)))
        await asyncio.sleep(0)
        self._check()

    async def done_writing(self) -> None:
        self.socket.put(SaidAll(self._number))

    async def read(self) -> Any:
        """`grpc.aio.EOF` once the server has said all."""
        if self._is_cancelled:
            raise asyncio.CancelledError
        data = await self._answers.get()
        if data is not None:
            return self._kind.read_answer(data)
        self._answers.put_nowait(None)
        if self._status is None:
            raise asyncio.CancelledError
        if self._status.code != grpc.StatusCode.OK.name:
            raise self._error(self._status)
        return grpc.aio.EOF

    def __aiter__(self) -> AsyncIterator[Heard]:
        return self

    async def __anext__(self) -> Heard:
        answer = await self.read()
        if answer is grpc.aio.EOF:
            raise StopAsyncIteration
        heard: Heard = answer
        return heard

    def cancel(self) -> bool:
        if self._status is not None or self._is_cancelled:
            return False
        self._is_cancelled = True
        self.socket.put(Cancel(self._number))
        self._channel.forget(self._number)
        self._answers.put_nowait(None)
        return True

    def hears(self, said: Data | Status) -> None:
        if isinstance(said, Data):
            self._answers.put_nowait(said.data)
        elif self._status is None:
            self._status = said
            self._answers.put_nowait(None)
            self._channel.forget(self._number)

    def _check(self) -> None:
        if self._status is None and not self._is_cancelled:
            return
        if self._status is not None and self._status.code != grpc.StatusCode.OK.name:
            raise self._error(self._status)
        raise asyncio.InvalidStateError("RPC already finished.")

    def _error(self, status: Status) -> grpc.aio.AioRpcError:
        nothing = grpc.aio.Metadata()
        return grpc.aio.AioRpcError(grpc.StatusCode[status.code], nothing, nothing, status.details)


class Channel:
    """To one port of one host: one connection at a time, made again for the next call after it is lost."""

    def __init__(self, host: Host, peer: str, port: str) -> None:
        self._host = host
        self._peer = peer
        self._port = port
        self._owner: Context = copy_context()
        self._numbers = count(1)
        self._calls: dict[int, Call[Any, Any]] = {}
        self._socket: Socket | None = None

    def begin(self, kind: Kind[Said, Heard]) -> Call[Said, Heard]:
        socket = self._socket
        if socket is None or not socket.is_usable:
            socket = self._connect()
        number = next(self._numbers)
        call = self._calls[number] = Call(self, number, kind, socket)
        socket.put(Begin(number, kind.name))
        return call

    def forget(self, number: int) -> None:
        self._calls.pop(number, None)

    def close(self) -> None:
        for call in list(self._calls.values()):
            call.cancel()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> Socket:
        socket = self._socket = self._host.dial(self._peer, self._port, self._owner)
        socket.on_body = self._heard
        socket.on_lost = lambda: self._lost(socket)
        return socket

    def _heard(self, said: Body) -> None:
        if isinstance(said, Data | Status) and said.call in self._calls:
            self._calls[said.call].hears(said)

    def _lost(self, socket: Socket) -> None:
        if socket is self._socket:
            self._socket = None
        for number, call in list(self._calls.items()):
            if call.socket is socket:
                call.hears(Status(number, grpc.StatusCode.UNAVAILABLE.name, "the connection was lost"))
