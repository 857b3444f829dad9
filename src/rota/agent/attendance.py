"""Keeps the server informed that this machine is there.

It runs in its own thread with its own connection, so that heartbeats don't wait for a busy machine, event
loop or output connection. Orders are handed to the loop.
"""

from __future__ import annotations

import asyncio
import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import grpc
import structlog

from rota.agent.dialling import DialResult, Itinerary
from rota.agent.presence import Agent, Listener, Presence
from rota.agent.session import Session
from rota.backends.agents.messages import refs_to
from rota.backends.backend import TaskRef
from rota.trust import TrustError
from rota.wire import agents_pb2 as wire
from rota.wire.agents_pb2_grpc import AgentsStub

log = structlog.get_logger()

_ANSWERS_WITHIN_S = 30.0
REFUSALS = (
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
)

Dial = Callable[[str], AbstractContextManager[grpc.Channel]]


class Attendance:
    def __init__(self, targets: Sequence[str], dial: Dial, agent: Agent, listener: Listener) -> None:
        """To be made in the loop that the listener lives in."""
        self._itinerary = Itinerary(targets)
        self._dial = dial
        self._agent = agent
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._leaving = threading.Event()
        self._news: News | None = None
        self._thread = threading.Thread(target=self._stay, name="rota-attendance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def drain(self) -> None:
        """The next heartbeat says so to the server. It is sent at once."""
        self._agent.is_draining = True
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
            outcome, target = DialResult.AWAY, self._itinerary.target
            try:
                outcome = self._attend(target)
            except grpc.RpcError as error:
                code, why = _status(error)
                if code in REFUSALS:
                    outcome = DialResult.REFUSED
                    log.error("agent.rejected", server=target, why=why)
                else:
                    log.warning("agent.not_connected", server=target, why=why)
            except TrustError as error:
                log.error("agent.server_untrusted", server=target, why=str(error))
            except Exception:
                log.exception("agent.connection_failed", server=target)
            self._leaving.wait(self._itinerary.after(outcome, random.random()))

    def _attend(self, target: str) -> DialResult:
        """Until the connection ends, or nothing comes by it any more."""
        listener = _InLoop(self._listener, self._loop)
        with self._dial(target) as channel:
            presence = Presence(self._agent, target, listener.has_now(), listener)
            news = self._news = News(presence)
            if self._leaving.is_set():
                return DialResult.AWAY
            call = AgentsStub(channel).Attend(iter(news))
            news.on_silence = call.cancel
            try:
                for order in call:
                    was_welcome = presence.was_welcome
                    presence.hears(order)
                    if not was_welcome:
                        news.hurry()
            except grpc.RpcError:
                if not presence.was_welcome:
                    raise
                log.warning("agent.disconnected", server=target)
            finally:
                self._news = None
                news.finish()
                call.cancel()
                presence.ends()
        return DialResult.WELCOME if presence.was_welcome and not news.was_silent else DialResult.AWAY


class _InLoop:
    """Implements Listener for the thread: it passes each call on to the loop, in the same order."""

    def __init__(self, listener: Listener, loop: asyncio.AbstractEventLoop) -> None:
        self._listener = listener
        self._loop = loop

    async def has(self) -> Sequence[TaskRef]:
        return await self._listener.has()

    def has_now(self) -> Sequence[TaskRef]:
        return asyncio.run_coroutine_threadsafe(self.has(), self._loop).result(_ANSWERS_WITHIN_S)

    def begins(self, session: Session, kept: Sequence[TaskRef]) -> None:
        self._loop.call_soon_threadsafe(self._listener.begins, session, kept)

    def ordered(self, session: Session, order: wire.AgentOrders) -> None:
        self._loop.call_soon_threadsafe(self._listener.ordered, session, order)

    def ends(self, session: Session) -> None:
        self._loop.call_soon_threadsafe(self._listener.ends, session)


class News:
    """The messages of the agent on one connection. gRPC iterates over them in its own thread."""

    def __init__(self, presence: Presence) -> None:
        self._presence = presence
        self._queue: queue.SimpleQueue[wire.AgentNews | None] = queue.SimpleQueue()
        self._is_finished = False
        self.on_silence: Callable[[], object] = lambda: None
        self.was_silent = False

    def __iter__(self) -> Iterator[wire.AgentNews]:
        presence = self._presence
        yield presence.hello()
        while not self._is_finished:
            try:
                said = self._queue.get(timeout=presence.wait_ms() / 1000)
                if said is not None:
                    yield said
                    continue
            except queue.Empty:
                pass
            if presence.is_silent():
                self.was_silent = True
                self.on_silence()
                return
            if not self._is_finished and (heartbeat := presence.heartbeat_if_due()) is not None:
                yield heartbeat

    def say(self, news: wire.AgentNews) -> None:
        self._queue.put(news)

    def hurry(self) -> None:
        self._presence.hurry()
        self._queue.put(None)

    def finish(self) -> None:
        self._is_finished = True
        self._queue.put(None)


def _status(error: object) -> tuple[grpc.StatusCode | None, str]:
    return (error.code(), error.details() or "") if isinstance(error, grpc.Call) else (None, str(error))
