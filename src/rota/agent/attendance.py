"""Keeps the server informed that this machine is there: hello, heartbeats, and the lease that they renew.

A thread of its own with a connection of its own: however busy the machine, the event loop or the connection
that output goes over, a heartbeat is a moment's work. Orders are handed to the loop.
"""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import grpc
import structlog

from rota import __version__
from rota.agent.dialling import Itinerary, Outcome
from rota.agent.lease import LeaseHolder
from rota.agent.machine import Machine
from rota.agent.session import Session, rest_url
from rota.backends.agents.messages import PROTOCOL, node_to, refs_to
from rota.backends.backend import TaskRef
from rota.clock import now_ms, since_boot_ms
from rota.wire import agents_pb2 as wire
from rota.wire.agents_pb2_grpc import AgentsStub

log = structlog.get_logger()

WELCOME_WITHIN_MS = 10_000
_MISSED = 4
"""So many heartbeats without an answer: the connection is of no use, whatever TCP thinks."""
_REFUSALS = (
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
)

Dial = Callable[[str], grpc.Channel]


class Listener(Protocol):
    """Who is told of what comes. Called in the thread of the attendance."""

    def has(self) -> Sequence[TaskRef]:
        """All that isn't settled. Whatever was to be started before has been, or never will be."""

    def begins(self, session: Session, kept: Sequence[TaskRef]) -> None: ...
    def ordered(self, session: Session, order: wire.AgentOrders) -> None: ...
    def ends(self, session: Session) -> None: ...


class Attendance:
    def __init__(
        self,
        targets: Sequence[str],
        dial: Dial,
        name: str,
        instance: str,
        machine: Machine,
        lease: LeaseHolder,
        listener: Listener,
    ) -> None:
        self._itinerary = Itinerary(targets)
        self._dial = dial
        self._name = name
        self._instance = instance
        self._machine = machine
        self._lease = lease
        self._listener = listener
        self.message = ""
        """What is wrong with this machine, as far as it knows."""
        self._is_draining = False
        self._leaving = threading.Event()
        self._news: _News | None = None
        self._thread = threading.Thread(target=self._stay, name="rota-attendance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def drain(self) -> None:
        """The server is told with the next heartbeat, which comes at once."""
        self._is_draining = True
        if (news := self._news) is not None:
            news.hurry()

    def leave(self) -> None:
        """Says goodbye and ends. Waits for that."""
        self._leaving.set()
        if (news := self._news) is not None:
            news.finish()
        self._thread.join(timeout=5)

    def forgotten(self, refs: Sequence[TaskRef]) -> None:
        if (news := self._news) is not None:
            news.say(wire.AgentNews(settled=wire.Settled(refs=refs_to(refs))))

    def _stay(self) -> None:
        while not self._leaving.is_set():
            outcome, target = Outcome.AWAY, self._itinerary.target
            try:
                outcome = self._attend(target)
            except grpc.RpcError as error:
                code, why = _status(error)
                if code in _REFUSALS:
                    outcome = Outcome.REFUSED
                    log.error("the server refuses this agent", server=target, why=why)
                else:
                    log.warning("no connection to the server", server=target, why=why)
            except Exception:
                log.exception("the connection to the server failed", server=target)
            self._leaving.wait(self._itinerary.after(outcome, random.random()))

    def _attend(self, target: str) -> Outcome:
        """Until the connection ends, or nothing comes by it any more."""
        session: Session | None = None
        with self._dial(target) as channel:
            kept = self._listener.has()
            news = self._news = _News(self._hello(kept), self._heartbeat)
            if self._leaving.is_set():
                return Outcome.AWAY
            call = AgentsStub(channel).Attend(iter(news))
            news.on_silence = call.cancel
            try:
                for order in call:
                    kind = order.WhichOneof("order")
                    if kind == "welcome" and session is None:
                        session = self._welcomed(target, order.welcome, news)
                        self._listener.begins(session, kept)
                    elif session is not None and kind == "acknowledged":
                        self._acknowledged(session, order.acknowledged.number, news)
                    elif session is not None:
                        self._listener.ordered(session, order)
            except grpc.RpcError:
                if session is None:
                    raise
                log.warning("the connection to the server was lost", server=target)
            finally:
                self._news = None
                news.finish()
                call.cancel()
                if session is not None:
                    session.is_open = False
                    self._listener.ends(session)
        return Outcome.AWAY if session is None or news.was_silent else Outcome.WELCOME

    def _hello(self, kept: Sequence[TaskRef]) -> wire.AgentNews:
        hello = wire.Hello(
            protocol=PROTOCOL,
            version=__version__,
            name=self._name,
            instance=self._instance,
            node=node_to(self._machine.look(), self.message),
            tasks=refs_to(kept),
            clock_ms=now_ms(),
            draining=self._is_draining,
        )
        return wire.AgentNews(hello=hello)

    def _heartbeat(self, number: int, round_trip_ms: int) -> wire.AgentNews:
        heartbeat = wire.Heartbeat(
            number=number,
            node=node_to(self._machine.look(), self.message),
            clock_ms=now_ms(),
            round_trip_ms=round_trip_ms,
            draining=self._is_draining,
        )
        return wire.AgentNews(heartbeat=heartbeat)

    def _welcomed(self, target: str, welcome: wire.Welcome, news: _News) -> Session:
        self._lease_ms, self._grace_ms = welcome.lease_ms, welcome.grace_ms
        news.welcomed(welcome.heartbeat_ms)
        url = rest_url(target, welcome.rest_port, welcome.rest_tls)
        number = self._lease.renew(news.sent_ms[0], welcome.lease_ms, welcome.grace_ms)
        log.info("at the server's service", server=target, name=self._name)
        return Session(target, welcome.session, url, number)

    def _acknowledged(self, session: Session, number: int, news: _News) -> None:
        sent_ms = news.acknowledged(number)
        if sent_ms is not None:
            session.lease = self._lease.renew(sent_ms, self._lease_ms, self._grace_ms)


class _News:
    """What the agent says on one connection, for gRPC to iterate over in a thread of its own."""

    def __init__(self, hello: wire.AgentNews, make_heartbeat: Callable[[int, int], wire.AgentNews]) -> None:
        self._hello = hello
        self._make_heartbeat = make_heartbeat
        self._queue: queue.SimpleQueue[wire.AgentNews | None] = queue.SimpleQueue()
        self._heartbeat_ms = WELCOME_WITHIN_MS
        self._is_welcome = False
        self._hurries = False
        self._is_finished = False
        self._round_trip_ms = 0
        self._heard_ms = since_boot_ms()
        self.sent_ms: dict[int, int] = {}
        """By number of the heartbeat, on the clock since boot; 0: the hello."""
        self.on_silence: Callable[[], object] = lambda: None
        self.was_silent = False

    def __iter__(self) -> Iterator[wire.AgentNews]:
        self.sent_ms[0] = self._heard_ms = since_boot_ms()
        yield self._hello
        number, due_ms = 1, self.sent_ms[0] + self._heartbeat_ms
        while not self._is_finished:
            try:
                said = self._queue.get(timeout=max(0.0, due_ms - since_boot_ms()) / 1000)
                if said is not None:
                    yield said
                    continue
            except queue.Empty:
                pass
            if self._is_silent():
                self.was_silent = True
                self.on_silence()
                return
            if not self._is_finished and self._is_welcome and (since_boot_ms() >= due_ms or self._hurries):
                self._hurries = False
                heartbeat = self._make_heartbeat(number, self._round_trip_ms)
                self.sent_ms[number] = since_boot_ms()
                due_ms = self.sent_ms[number] + self._heartbeat_ms
                number += 1
                yield heartbeat

    def _is_silent(self) -> bool:
        allowed_ms = _MISSED * self._heartbeat_ms if self._is_welcome else WELCOME_WITHIN_MS
        return since_boot_ms() - self._heard_ms >= allowed_ms

    def say(self, news: wire.AgentNews) -> None:
        self._queue.put(news)

    def hurry(self) -> None:
        self._hurries = True
        self._queue.put(None)

    def finish(self) -> None:
        self._is_finished = True
        self._queue.put(None)

    def welcomed(self, heartbeat_ms: int) -> None:
        self._heartbeat_ms = max(50, heartbeat_ms)
        self._heard_ms = since_boot_ms()
        self._is_welcome = True
        self.hurry()

    def acknowledged(self, number: int) -> int | None:
        """When that heartbeat was sent; None: never, or it was acknowledged before."""
        sent_ms = self.sent_ms.get(number)
        if sent_ms is None:
            return None
        self._heard_ms = since_boot_ms()
        self._round_trip_ms = self._heard_ms - sent_ms
        for earlier in list(self.sent_ms):
            if earlier <= number:
                del self.sent_ms[earlier]
        return sent_ms


def _status(error: object) -> tuple[grpc.StatusCode | None, str]:
    return (error.code(), error.details() or "") if isinstance(error, grpc.Call) else (None, str(error))
