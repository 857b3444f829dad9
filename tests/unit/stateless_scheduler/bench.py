"""A whole scheduler without a network: controllers and agents are the test's own words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import json

from rota.backends.agents.agent import Session
from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskStarted
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.policy import Policy
from rota.stateless_scheduler.actions import Seat, job_id_of
from rota.stateless_scheduler.core import Scheduler
from rota.stateless_scheduler.outbox import Outbox
from rota.wire import agents_pb2
from rota.wire import controllers_pb2 as wire

TERMS = Terms(60_000)
ABANDONED_AFTER_MS = 600_000
PATIENCE_S = 20.0


class Line:
    """One connection of a controller, and all that it was told by it."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self._scheduler = scheduler
        self.seat: Seat
        self.outbox: Outbox
        self.seat, self.outbox = scheduler.directing.arrive(name)
        self.told: list[wire.SchedulerNews] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for news in self.outbox:
            self.told.append(news)

    async def submit(self, *actions: wire.Action, complete: bool = True) -> None:
        message = wire.Submit(actions=actions, complete=complete)
        await self._scheduler.directing.submit(self.seat, message)

    def record(self, placement: wire.Placement) -> None:
        ref = wire.ActionRef(action=placement.action, fence=placement.fence)
        self._scheduler.directing.recorded(self.seat, [ref])

    def keep(self, ended: wire.Ended) -> None:
        self._scheduler.directing.ends_kept(self.seat, [ended.ref])

    def leave(self) -> None:
        self._scheduler.directing.leave(self.seat, self.outbox)

    def all(self, kind: str) -> list[Any]:
        return [getattr(news, kind) for news in self.told if news.WhichOneof("news") == kind]

    async def hear(self, kind: str, which: Callable[[Any], bool] = lambda _: True) -> Any:
        """The first of that kind, once it is told."""
        return await eventually(lambda: next(iter(filter(which, self.all(kind))), None))

    async def placement(self, action: str, after: int = 0) -> wire.Placement:
        """Of a fence above `after`."""

        def find() -> wire.Placement | None:
            placements = [one for news in self.all("placed") for one in news.placements]
            return next((one for one in placements if one.action == action and one.fence > after), None)

        found: wire.Placement = await eventually(find)
        return found


class Bench:
    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000
        self.scheduler = Scheduler(
            ["ci", "nightly"], Policy(), TERMS, ABANDONED_AFTER_MS, lambda: self.now_ms, lambda: 0.0
        )
        self.backend = self.scheduler.backend

    def line(self, name: str = "ci") -> Line:
        return Line(self.scheduler, name)

    def agent(self, name: str, *tasks: TaskRef, cpus: int = 1) -> Session:
        capacity = agents_pb2.Resources(cpu_milli=1000 * cpus, memory_bytes=1 << 30, slots=10)
        refs = [agents_pb2.TaskRef(job=one.job, rank=one.rank, fence=one.fence) for one in tasks]
        session = self.backend.greet(
            agents_pb2.Hello(
                protocol=1,
                name=name,
                instance=name,
                node=agents_pb2.Node(capacity=capacity),
                tasks=refs,
                clock_ms=1,
            )
        )
        self.backend.admit(session)
        return session

    def report(self, session: Session, report: TaskReport) -> None:
        self.backend.hear_of(self.backend.task_of(session, report.ref), report)

    def start(self, session: Session, ref: TaskRef) -> None:
        self.report(session, TaskStarted(ref, self.now_ms))

    def end(self, session: Session, ref: TaskRef, exit_code: int = 0) -> None:
        self.report(session, TaskEnded(ref, self.now_ms, TaskEnd(EndReason.EXITED, exit_code)))

    def live_fences(self, name: str, id: str) -> list[int]:
        state = self.scheduler.transactor.memory.jobs.get(job_id_of(name, id))
        return [] if state is None else [task.fence for task in state.live]


def action(id: str, placement: wire.Placement | None = None, **fields: Any) -> wire.Action:
    """One that takes a whole agent."""
    job = json.encode({"command": ["true"], "resources": {"cpu": 1}, **fields}).decode()
    return wire.Action(id=id, job=job, placement=placement)


def ref_of(placement: wire.Placement, controller: str = "ci") -> TaskRef:
    return TaskRef(job_id_of(controller, placement.action), 0, placement.fence)


def orders(session: Session) -> list[tuple[str, list[int]]]:
    """Since the last time: offers and settlements, with their fences."""
    said = []
    while not session.orders.empty():
        order = session.orders.get_nowait()
        assert order is not None
        if order.WhichOneof("order") == "offer":
            said.append(("offer", [one.ref.fence for one in order.offer.tasks]))
        else:
            said.append(("settle", [one.fence for one in order.settle.refs]))
    return said


async def ordered(session: Session) -> list[tuple[str, list[int]]]:
    found: list[tuple[str, list[int]]] = await eventually(lambda: orders(session))
    return found


async def eventually(find: Callable[[], Any]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        while not (found := find()):
            await asyncio.sleep(0.005)
        return found


async def settles() -> None:
    """Time enough for anything that would happen."""
    await asyncio.sleep(0.4)


@asynccontextmanager
async def started() -> AsyncIterator[Bench]:
    bench = Bench()
    await bench.scheduler.start()
    try:
        yield bench
        assert not bench.scheduler.failed.is_set()
    finally:
        await bench.scheduler.stop()
