"""Nodes with agents as a backend: the server's end of their connections. It forgets all with its server.

What a real one has to get right is in `known`: what an agent says that it has, when it dials, against what it
was sent. An order that may not have arrived is sent again; a task that has arrived and isn't known any more
is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from random import Random

from rota.backends.backend import (
    BackendUnavailable,
    Health,
    LogChunk,
    LogQuery,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStart,
)
from rota.faults import wire
from rota.faults.event_loop import OUTSIDE
from rota.faults.network import Stream
from rota.faults.wire import Beat, Hello, Order, Reports, ToAgent, ToServer
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.node import Node

NAME = "agents"
FAR_FUTURE_MS = 2**62
"""Counts as the moment at which the report comes in."""
LOOKS_EACH_S = 0.25
OPENS_WITHIN_S = 1.0
NO_LOGS: tuple[Sequence[LogChunk], ...] = ()
NO_BYTES: tuple[bytes, ...] = ()


class _Peer:
    """A node that has dialled, or that has tasks of an earlier server and may dial yet."""

    def __init__(self, heard_s: float) -> None:
        self.node: Node | None = None
        """None: it hasn't dialled yet."""
        self.dialled = 0
        self.heard_s = heard_s
        self.stream: Stream[Order | Reports] | None = None
        self.is_lost = False
        self.has: dict[TaskRef, None] = {}
        """What it was told to start, or says that it was, or should have, and that isn't settled."""
        self.queued: list[Order | Reports] = []
        """For when it dials."""

    def put(self, order: Order) -> None:
        if self.stream is not None:
            self.stream.put(order)
        else:
            self.queued.append(order)


class SimulatedBackend:
    """Implements Backend."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        chance: Random,
        send: Callable[[NodeName, ToAgent], None],
        agents: Sequence[NodeName],
        first_session: int,
    ) -> None:
        """`agents`: those that have joined, and are waited for."""
        self.name = NAME
        self.doubts = 0.0
        """How often a call fails, before or after it was done."""
        self._loop = loop
        self._chance = chance
        self._send = send
        self._agents = agents
        self._session = first_session
        self._peers: dict[NodeName, _Peer] = {}
        self._unsettled: dict[TaskRef, TaskEnded | TaskReturned] = {}
        self._handed_out: set[TaskRef] = set()
        self._queue: asyncio.Queue[Sequence[TaskReport]] = asyncio.Queue()
        self._all_here = asyncio.Event()
        self._was_told = False
        """What its nodes should have: whatever else they have is stopped."""
        self._is_closed = False

    # -- Backend

    async def open(self) -> None:
        """Who doesn't dial at once is waited for later, by whoever has tasks there."""
        self._loop.call_later(LOOKS_EACH_S, self._look_for_lost, context=OUTSIDE)
        try:
            async with asyncio.timeout(OPENS_WITHIN_S):
                await self._all_here.wait()
        except TimeoutError:
            pass

    async def close(self) -> None:
        self.vanish()

    async def nodes(self) -> Sequence[Node]:
        return [
            Node(name, peer.node.spec, ready=not peer.is_lost)
            for name, peer in sorted(self._peers.items())
            if peer.node is not None
        ]

    async def node(self, name: NodeName) -> Node | None:
        return next((node for node in await self.nodes() if node.name == name), None)

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        self._doubt()
        expected = {ref for ref, _ in tasks}
        for peer in self._peers.values():
            self._dismiss_besides(peer, expected)
        self._was_told = True
        taken = []
        for ref, node in tasks:
            if node not in self._agents:
                continue
            peer = self._peers.setdefault(node, _Peer(self._loop.time()))
            if peer.node is None:
                peer.has[ref] = None
            if ref in peer.has or ref in self._unsettled:
                taken.append(ref)
        self._doubt()
        return taken

    async def start(self, tasks: Sequence[TaskStart]) -> None:
        self._doubt()
        for task in tasks:
            if task.ref in self._unsettled:
                # It was given up: starting it after all would make it run while it is recorded as lost.
                continue
            peer = self._peers.get(task.node)
            if peer is None or peer.is_lost:
                self._lose([task.ref], "its node is lost")
            elif task.ref not in peer.has or peer.node is None:
                peer.has[task.ref] = None
                peer.put(wire.Start((task,)))
        self._doubt()

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        self._doubt()
        for ref in tasks:
            peer = self._peer_with(ref)
            if peer is not None:
                peer.put(wire.Stop((ref,)))
            else:
                self._lose([ref], "no node knows of it")
        self._doubt()

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        self._doubt()
        peer = self._peer_with(task)
        if peer is not None:
            peer.put(wire.ChangeLimit(task, time_limit_ms))

    async def running(self) -> Sequence[TaskRef]:
        self._doubt()
        here = [ref for peer in self._peers.values() for ref in peer.has]
        return list(dict.fromkeys([*here, *self._unsettled]))

    async def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        """To somebody who comes again: those that were handed out, and came to nothing."""
        again = [report for ref, report in self._unsettled.items() if ref in self._handed_out]
        if again:
            yield again
        while True:
            reports = await self._queue.get()
            self._handed_out.update(report.ref for report in reports)
            yield reports

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        self._doubt()
        for ref in tasks:
            self._unsettled.pop(ref, None)
            self._handed_out.discard(ref)
            peer = self._peer_with(ref)
            if peer is not None:
                peer.put(wire.Settle((ref,)))
        self._doubt()

    async def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        """Simulated tasks say nothing."""
        for chunks in NO_LOGS:
            yield chunks

    async def output(self, job: JobId, rank: int, path: str) -> AsyncIterator[bytes]:
        for piece in NO_BYTES:
            yield piece
        raise FileNotFoundError(f"simulated tasks leave no files: {path!r}")

    async def forget(self, jobs: Sequence[JobId]) -> None:
        """There is nothing of them."""

    async def health(self) -> Health:
        return Health(True)

    def _doubt(self) -> None:
        if self._chance.random() < self.doubts:
            raise BackendUnavailable("the connection to the agents was lost: it will be back")

    def _peer_with(self, ref: TaskRef) -> _Peer | None:
        return next((peer for peer in self._peers.values() if ref in peer.has), None)

    # -- agents

    def vanish(self) -> None:
        """With its server: nothing more is sent, or heard."""
        self._is_closed = True
        for peer in self._peers.values():
            if peer.stream is not None:
                peer.stream.close()

    def heard(self, name: NodeName, message: ToServer) -> None:
        if self._is_closed:
            return
        peer = self._peers.get(name)
        match message:
            case Hello():
                self._connect(name, message)
            case Beat(session, sent_s):
                if peer is not None and peer.stream is not None and peer.stream.session == session:
                    peer.heard_s = self._loop.time()
                    self._send(name, wire.BeatAnswer(session, sent_s))
            case _:
                if peer is not None and peer.stream is not None:
                    peer.stream.arrived(message)  # type: ignore[arg-type]

    def _connect(self, name: NodeName, hello: Hello) -> None:
        peer = self._peers.setdefault(name, _Peer(self._loop.time()))
        if hello.dialled > peer.dialled or (peer.is_lost and hello.dialled == peer.dialled):
            peer.dialled, peer.node, peer.is_lost = hello.dialled, hello.node, False
            queued, peer.queued = peer.queued, []
            unconfirmed = queued if peer.stream is None else peer.stream.close()
            self._session += 1
            peer.stream = self._stream(name, peer)
            self._compare(peer, hello.known, unconfirmed)
        if hello.dialled == peer.dialled and peer.stream is not None:
            # What is answered gives a lease, so it counts as heard.
            peer.heard_s = self._loop.time()
            self._send(name, wire.Welcome(hello.dialled, peer.stream.session, hello.sent_s))
        if all(one in self._peers for one in self._agents):
            self._all_here.set()

    def _stream(self, name: NodeName, peer: _Peer) -> Stream[Order | Reports]:
        def send(message: object) -> None:
            self._send(name, message)  # type: ignore[arg-type]

        def handle(message: Order | Reports) -> None:
            assert isinstance(message, Reports)
            peer.has.update(dict.fromkeys(report.ref for report in message.reports))
            self._take(message.reports)

        def confirmed(message: Order | Reports) -> None:
            if isinstance(message, wire.Settle | wire.Dismiss):
                for ref in message.refs:
                    # Unless there was more to say of it.
                    if ref not in self._unsettled:
                        peer.has.pop(ref, None)

        return Stream(self._loop, self._session, send, handle, confirmed)

    def _compare(self, peer: _Peer, known: tuple[TaskRef, ...], unconfirmed: list[Order | Reports]) -> None:
        assert peer.stream is not None
        unsure = {task.ref for order in unconfirmed if isinstance(order, wire.Start) for task in order.tasks}
        gone = [ref for ref in peer.has if ref not in known and ref not in unsure]
        for ref in gone:
            del peer.has[ref]
        self._lose([ref for ref in gone if ref not in self._unsettled], "its node has forgotten it")
        if self._was_told:
            expected = {*peer.has, *unsure}
            peer.has.update(dict.fromkeys(known))
            self._dismiss_besides(peer, expected)
        peer.has.update(dict.fromkeys(known))
        for order in unconfirmed:
            peer.stream.put(order)

    def _dismiss_besides(self, peer: _Peer, expected: set[TaskRef]) -> None:
        for ref in peer.has:
            if ref not in expected:
                peer.put(wire.Dismiss((ref,)))

    def _take(self, reports: tuple[TaskReport, ...]) -> None:
        for report in reports:
            if isinstance(report, TaskEnded | TaskReturned):
                self._unsettled[report.ref] = report
        self._queue.put_nowait(reports)

    def _look_for_lost(self) -> None:
        if self._is_closed:
            return
        for peer in self._peers.values():
            if not peer.is_lost and self._loop.time() - peer.heard_s >= wire.LOST_AFTER_S:
                self._give_up(peer)
        self._loop.call_later(LOOKS_EACH_S, self._look_for_lost, context=OUTSIDE)

    def _give_up(self, peer: _Peer) -> None:
        peer.is_lost = True
        if peer.stream is not None:
            peer.stream.close()
            peer.stream = None
        lost = [ref for ref in peer.has if ref not in self._unsettled]
        peer.has.clear()
        peer.queued.clear()
        self._lose(lost, "its node is lost")

    def _lose(self, refs: Sequence[TaskRef], why: str) -> None:
        end = TaskEnd(EndReason.LOST, message=why)
        if refs:
            self._take(tuple(TaskEnded(ref, FAR_FUTURE_MS, end) for ref in refs))
