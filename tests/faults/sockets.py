"""What TCP makes of such a network: connections, on which what is sent arrives once and in order, or not.

A host's kernel keeps its sockets. Those of a process that is killed are reset, as kernels do it; when the
power goes, nobody is told: who goes on sending learns it once the host is up again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from enum import Enum, auto
from typing import TypeAlias

from msgspec import Struct

from tests.faults.event_loop import LIFE, OUTSIDE, Life
from tests.faults.network import Network

RESEND_S = 0.4
CONNECTS_WITHIN_S = 5.0
PROBES_EACH_S = 1.5
"""Whether the other end is there: as gRPC does it each 15 s where agents are waited for ten times as long."""
SILENT_AFTER_S = 2.5

Body: TypeAlias = object


class Syn(Struct, frozen=True):
    connection: str
    port: str


class SynAck(Struct, frozen=True):
    connection: str


class Segment(Struct, frozen=True):
    connection: str
    number: int
    body: Body


class Received(Struct, frozen=True):
    """All up to this number have arrived."""

    connection: str
    number: int


class Probe(Struct, frozen=True):
    """Answered by what was received."""

    connection: str


class Reset(Struct, frozen=True):
    connection: str


Packet: TypeAlias = Syn | SynAck | Segment | Received | Probe | Reset


class _Fin(Enum):
    FIN = auto()


class Socket:
    """One end of a connection. Its owner is told in its own context, and no more once its life is over."""

    def __init__(self, host: Host, peer: str, connection: str, owner: Context) -> None:
        self.connection = connection
        self.peer = peer
        self.owner = owner
        self.on_body: Callable[[Body], None] = lambda _: None
        self.on_lost: Callable[[], None] = lambda: None
        """Told once, after all that has arrived: the other end closed it, or isn't there any more."""
        self.is_open = False
        """The other end is known to be there."""
        self._host = host
        self._loop = host.loop
        self._sent = 0
        self._arrived = 0
        self._unconfirmed: dict[int, Body] = {}
        self._early: dict[int, Body] = {}
        self._inbox: deque[Callable[[], None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._heard_s = self._loop.time()
        self._is_closed = False
        """By its owner."""
        self._is_gone = False

    @property
    def is_usable(self) -> bool:
        return not (self._is_closed or self._is_gone)

    # -- for its owner

    def put(self, body: Body) -> None:
        if self.is_usable:
            self._put(body)

    def close(self) -> None:
        """What was put before still arrives, unless something is in the way."""
        if self.is_usable:
            self._is_closed = True
            self._put(_Fin.FIN)

    # -- for its kernel

    def tell(self, what: Callable[[], None]) -> None:
        """Its owner, in this order, whichever call the loop chooses first."""
        self._inbox.append(what)
        self._loop.call_soon(lambda: self._inbox.popleft()(), context=self.owner)

    def opens(self) -> None:
        if not self.is_open and not self._is_gone:
            self.is_open = True
            self._heard_s = self._loop.time()
            self._resend()

    def vanish(self, lost: bool = False) -> None:
        """`lost`: its owner is told so."""
        if not self._is_gone:
            self._is_gone = True
            if self._timer is not None:
                self._timer.cancel()
            self._host.forget(self)
            if lost and not self._is_closed:
                self.tell(self.on_lost)

    def arrives(self, packet: Segment | Received | Probe) -> None:
        if self._is_gone:
            return
        self._heard_s = self._loop.time()
        match packet:
            case Received(_, number):
                for confirmed in [each for each in self._unconfirmed if each <= number]:
                    del self._unconfirmed[confirmed]
                if self._is_closed and not self._unconfirmed:
                    self.vanish()
                return
            case Segment(_, number, body):
                if number > self._arrived:
                    self._early[number] = body
                while (self._arrived + 1) in self._early:
                    self._arrived += 1
                    self._take(self._early.pop(self._arrived))
        self._send(Received(self.connection, self._arrived))

    def watch(self) -> None:
        """For as long as it is there."""
        if self._is_gone:
            return
        silent_s = self._loop.time() - self._heard_s
        if silent_s >= (SILENT_AFTER_S if self.is_open else CONNECTS_WITHIN_S):
            self.vanish(lost=True)
            return
        if self.is_open:
            self._send(Probe(self.connection))
        self._loop.call_later(PROBES_EACH_S if self.is_open else RESEND_S, self.watch, context=OUTSIDE)

    def _take(self, body: Body) -> None:
        if body is _Fin.FIN:
            # Told that it has come, whoever closed it needs to be told no more.
            self._loop.call_soon(self.vanish, True, context=OUTSIDE)
        elif not self._is_closed:
            self.tell(lambda: self.on_body(body))

    def _put(self, body: Body) -> None:
        self._sent += 1
        self._unconfirmed[self._sent] = body
        if self.is_open:
            self._send(Segment(self.connection, self._sent, body))
        if self._timer is None:
            self._timer = self._loop.call_later(RESEND_S, self._resend, context=OUTSIDE)

    def _resend(self) -> None:
        self._timer = None
        if self._is_gone or not self._unconfirmed:
            return
        if self.is_open:
            for number, body in self._unconfirmed.items():
                self._send(Segment(self.connection, number, body))
        self._timer = self._loop.call_later(RESEND_S, self._resend, context=OUTSIDE)

    def _send(self, packet: Packet) -> None:
        self._host.send(self.peer, packet)


Accept: TypeAlias = Callable[[Socket], None]


class Host:
    """A machine, as the network sees it."""

    def __init__(self, name: str, network: Network, hosts: dict[str, Host]) -> None:
        """`hosts`: all there are, by name; it adds itself."""
        self.name = name
        self.loop = network.loop
        self._network = network
        self._hosts = hosts
        self._listeners: dict[str, tuple[Context, Accept]] = {}
        self._sockets: dict[str, Socket] = {}
        self._dialled = 0
        hosts[name] = self

    # -- for its processes

    def listen(self, port: str, owner: Context, accept: Accept) -> None:
        self._listeners[port] = owner, accept

    def dial(self, peer: str, port: str, owner: Context) -> Socket:
        """What is put on it waits until it is open."""
        self._dialled += 1
        socket = Socket(self, peer, f"{self.name}#{self._dialled}", owner)
        self._sockets[socket.connection] = socket
        self._knock(socket, port)
        socket.watch()
        return socket

    def end_process(self, life: Life) -> None:
        """Its kernel closes all that it had."""
        for port, (owner, _) in list(self._listeners.items()):
            if owner.get(LIFE) is life:
                del self._listeners[port]
        for socket in list(self._sockets.values()):
            if socket.owner.get(LIFE) is life:
                self.reset(socket)

    def reset(self, socket: Socket) -> None:
        self.send(socket.peer, Reset(socket.connection))
        socket.vanish()

    def break_all(self) -> None:
        """Somebody on the way resets all that goes through them."""
        for socket in list(self._sockets.values()):
            self.send(socket.peer, Reset(socket.connection))
            socket.vanish(lost=True)

    def lose_power(self) -> None:
        self._listeners.clear()
        for socket in list(self._sockets.values()):
            socket.vanish()

    # -- for its sockets, and the network

    def forget(self, socket: Socket) -> None:
        self._sockets.pop(socket.connection, None)

    def send(self, peer: str, packet: Packet) -> None:
        self._network.send(self.name, peer, lambda: self._hosts[peer].arrives(self.name, packet))

    def arrives(self, source: str, packet: Packet) -> None:
        socket = self._sockets.get(packet.connection)
        match packet:
            case Reset():
                if socket is not None:
                    socket.vanish(lost=True)
            case Syn(connection, port):
                self._knocked(source, connection, port)
            case SynAck() if socket is not None:
                socket.opens()
            case Segment() | Received() | Probe() if socket is not None:
                socket.arrives(packet)
            case _:
                self.send(source, Reset(packet.connection))

    def _knock(self, socket: Socket, port: str) -> None:
        if not socket.is_open and socket.connection in self._sockets:
            self.send(socket.peer, Syn(socket.connection, port))
            self.loop.call_later(RESEND_S, self._knock, socket, port, context=OUTSIDE)

    def _knocked(self, source: str, connection: str, port: str) -> None:
        if connection not in self._sockets:
            listener = self._listeners.get(port)
            if listener is None:
                self.send(source, Reset(connection))
                return
            owner, accept = listener
            socket = self._sockets[connection] = Socket(self, source, connection, owner)
            socket.is_open = True
            socket.watch()
            socket.tell(lambda: accept(socket))
        self.send(source, SynAck(connection))
