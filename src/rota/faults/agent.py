"""A node with its agent: starts and stops tasks that take a while, keeps a journal, holds a lease, dials out.

Its journal survives everything but `is_wiped`. Its tasks survive a restart of the agent, and a watcher beside
each of them sees to it that they don't survive the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Protocol

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart, TaskStarted
from rota.backends.process.lanes import Arrival, Lanes
from rota.faults import wire
from rota.faults.event_loop import OUTSIDE
from rota.faults.network import Stream
from rota.faults.wire import BeatAnswer, Order, Reports, ToAgent, ToServer, Welcome
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import NodeName
from rota.model.node import Node
from rota.model.run import Run

LONGEST_GRACE_S = 0.5
_NO_RUN = Run()


class Observer(Protocol):
    """Sees what really happens on nodes."""

    def task_started(self, node: Node, start: TaskStart) -> None: ...

    def task_ended(self, node: Node, ref: TaskRef, end: TaskEnd) -> None: ...

    def node_wiped(self, refs: list[TaskRef]) -> None: ...


class Fate(Protocol):
    """How long a task runs, and how it ends."""

    def __call__(self, start: TaskStart) -> tuple[float, TaskEnd]: ...


class _Task:
    def __init__(self, start: TaskStart) -> None:
        self.start = start
        self.limit_ms = start.time_limit_ms
        self.started: TaskStarted | None = None
        self.over: TaskEnded | TaskReturned | None = None
        self.is_stopping = False
        self.began_s = 0.0
        self.timers: list[asyncio.TimerHandle] = []

    @property
    def is_running(self) -> bool:
        return self.started is not None and self.over is None

    def reports(self) -> list[TaskReport]:
        return [one for one in (self.started, self.over) if one is not None]


class Agent:
    def __init__(
        self,
        node: Node,
        loop: asyncio.AbstractEventLoop,
        chance: Random,
        send: Callable[[NodeName, ToServer], None],
        clock_ms: Callable[[], int],
        fate: Fate,
        observer: Observer,
    ) -> None:
        self.node = node
        self._loop = loop
        self._chance = chance
        self._send = send
        self._clock_ms = clock_ms
        self._fate = fate
        self._observer = observer
        self._tasks: dict[TaskRef, _Task] = {}
        self._seen: set[TaskRef] = set()
        """Settled: should its start come once more, by a detour, it isn't started."""
        self._lanes = Lanes()
        self._is_up = False
        self._life = 0
        """How often it was started: timers of an earlier life do nothing."""
        self._dialled = 0
        self._stream: Stream[Order | Reports] | None = None
        self._answered_s = 0.0
        """When the latest beat was sent that was answered."""
        self._lease: asyncio.TimerHandle | None = None

    @property
    def unsettled(self) -> list[TaskRef]:
        return list(self._tasks)

    @property
    def is_up(self) -> bool:
        return self._is_up

    # -- it comes and goes

    def come_up(self) -> None:
        if not self._is_up:
            self._is_up = True
            self._life += 1
            self._dial()
            self._tick(self._life)

    def go_down(self, power_is_lost: bool = False, is_wiped: bool = False) -> None:
        self._hang_up()
        self._is_up = False
        if power_is_lost or is_wiped:
            self._end_all("the node lost its power")
        if is_wiped:
            self._observer.node_wiped([*self._tasks, *self._seen])
            self._tasks.clear()
            self._seen.clear()
            self._lanes = Lanes()

    def hang_up(self) -> None:
        """A connection that breaks."""
        if self._is_up:
            self._dial()

    # -- connected, or trying to be

    def _tick(self, life: int) -> None:
        if life != self._life or not self._is_up:
            return
        now_s = self._loop.time()
        if self._stream is not None and now_s - self._answered_s >= wire.RECONNECTS_AFTER_S:
            self._dial()
        elif self._stream is None:
            self._say_hello()
        else:
            self._say(wire.Beat(self._stream.session, now_s))
        self._loop.call_later(wire.BEAT_S, self._tick, life, context=OUTSIDE)

    def _dial(self) -> None:
        self._hang_up()
        self._dialled += 1
        self._say_hello()

    def _hang_up(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _say_hello(self) -> None:
        self._say(wire.Hello(self.node, self._dialled, tuple(self._tasks), self._loop.time()))

    def _say(self, message: ToServer) -> None:
        self._send(self.node.name, message)

    def heard(self, message: ToAgent) -> None:
        if not self._is_up:
            return
        match message:
            case Welcome():
                self._welcomed(message)
            case BeatAnswer(session, sent_s):
                if self._stream is not None and session == self._stream.session:
                    self._renew_lease(sent_s)
            case _:
                if self._stream is not None:
                    self._stream.arrived(message)  # type: ignore[arg-type]

    def _welcomed(self, welcome: Welcome) -> None:
        if self._stream is not None or welcome.dialled != self._dialled:
            return
        if self._loop.time() >= welcome.sent_s + wire.KILLS_AFTER_S:
            return
        self._stream = Stream(self._loop, welcome.session, self._say, self._obey)  # type: ignore[arg-type]
        self._renew_lease(welcome.sent_s)
        reports = [report for task in self._tasks.values() for report in task.reports()]
        if reports:
            self._stream.put(Reports(tuple(reports)))

    def _renew_lease(self, sent_s: float) -> None:
        self._answered_s = max(self._answered_s, sent_s)
        if self._lease is not None:
            self._lease.cancel()
        self._lease = self._loop.call_at(
            self._answered_s + wire.KILLS_AFTER_S, self._lease_is_over, context=OUTSIDE
        )

    def _lease_is_over(self) -> None:
        self._lease = None
        self._end_all("its node lost the server")
        if self._stream is not None:
            self._dial()

    # -- what it is told

    def _obey(self, order: Order | Reports) -> None:
        match order:
            case wire.Start(tasks):
                for start in tasks:
                    self._take(start)
            case wire.Stop(refs):
                for ref in refs:
                    self._stop(ref)
            case wire.ChangeLimit(ref, time_limit_ms):
                task = self._tasks.get(ref)
                if task is not None and task.over is None:
                    task.limit_ms = time_limit_ms
                    if task.started is not None:
                        self._set_limit(task)
            case wire.Settle(refs):
                for ref in refs:
                    self._settle(ref)
            case wire.Dismiss(refs):
                for ref in refs:
                    self._settle(ref)
                    if ref in self._tasks:
                        self._stop(ref)

    def _take(self, start: TaskStart) -> None:
        if start.ref in self._tasks or start.ref in self._seen:
            return
        task = self._tasks[start.ref] = _Task(start)
        if not start.standby:
            self._lanes.enters(start.lane)
            self._begin(task)
            return
        match self._lanes.arrives(start.lane, start.ref):
            case Arrival.STARTS:
                self._begin(task)
            case Arrival.RETURNS:
                self._over(task, TaskReturned(start.ref, self._clock_ms()))

    def _begin(self, task: _Task) -> None:
        start = task.start
        task.began_s = self._loop.time()
        task.started = TaskStarted(start.ref, self._clock_ms())
        self._observer.task_started(self.node, start)
        self._report(task.started)
        run_s, end = self._fate(start)
        self._later(task, run_s, end)
        self._set_limit(task)

    def _set_limit(self, task: _Task) -> None:
        if task.limit_ms is not None:
            left_s = task.began_s + task.limit_ms / 1000 - self._loop.time()
            self._later(task, max(0.0, left_s), TaskEnd(EndReason.TIME_LIMIT), task.limit_ms)

    def _later(self, task: _Task, delay_s: float, end: TaskEnd, by_limit_ms: int | None = None) -> None:
        task.timers.append(self._loop.call_later(delay_s, self._end, task, end, by_limit_ms, context=OUTSIDE))

    def _end(self, task: _Task, end: TaskEnd, by_limit_ms: int | None = None) -> None:
        # A limit that was changed meanwhile ends nobody.
        if not task.is_running or (by_limit_ms is not None and by_limit_ms != task.limit_ms):
            return
        ref = task.start.ref
        self._observer.task_ended(self.node, ref, end)
        self._over(task, TaskEnded(ref, self._clock_ms(), end))
        following = self._lanes.leaves(task.start.lane, ref)
        if following is not None:
            self._begin(self._tasks[following])

    def _stop(self, ref: TaskRef) -> None:
        task = self._tasks.get(ref)
        if task is None:
            end = TaskEnd(EndReason.LOST, message="the node knows nothing of it")
            task = self._tasks[ref] = _Task(TaskStart(ref, self.node.name, _NO_RUN))
            self._over(task, TaskEnded(ref, self._clock_ms(), end))
        elif task.over is not None:
            self._report(task.over)
        elif self._lanes.withdraws(task.start.lane, ref):
            self._over(task, TaskReturned(ref, self._clock_ms()))
        elif not task.is_stopping:
            task.is_stopping = True
            self._later(task, LONGEST_GRACE_S * self._chance.random(), TaskEnd(EndReason.STOPPED))

    def _settle(self, ref: TaskRef) -> None:
        task = self._tasks.get(ref)
        if task is not None and task.over is not None:
            del self._tasks[ref]
            self._seen.add(ref)
            self._lanes.settles(task.start.lane, ref)

    def _end_all(self, why: str) -> None:
        """At once. Those on standby first: none of them is to take over."""
        for task in list(self._tasks.values()):
            if self._lanes.withdraws(task.start.lane, task.start.ref):
                self._over(task, TaskReturned(task.start.ref, self._clock_ms()))
        for task in list(self._tasks.values()):
            self._end(task, TaskEnd(EndReason.LOST, message=why))

    def _over(self, task: _Task, report: TaskEnded | TaskReturned) -> None:
        task.over = report
        for timer in task.timers:
            timer.cancel()
        self._report(report)

    def _report(self, report: TaskReport) -> None:
        if self._stream is not None:
            self._stream.put(Reports((report,)))
