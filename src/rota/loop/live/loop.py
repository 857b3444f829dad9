"""The loop of a live cluster: something changed → snapshot → decide → what is to be done is asked of control.

Deciding is done in a thread, on a frozen snapshot: however long it takes, agents and users are answered. What
has changed meanwhile is looked at again when the plan is carried out (`grounds.py`).

It looks again when anything happened that could matter, and at the moments at which time alone matters: when
a promise falls due, a pause is over, maintenance begins.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import cache
from heapq import heapify, heappop, heappush
from time import perf_counter

import structlog
from msgspec.structs import replace

from rota.control.errors import Unavailable
from rota.control.transactor import Transactor
from rota.engine.decide import decide
from rota.engine.plugin import Plugins
from rota.forecast import moments
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import (
    Bound,
    DeadlinePassed,
    Ended,
    Returned,
    Started,
    StartMissed,
    Submitted,
)
from rota.lifecycle.instructions import Instruction
from rota.lifecycle.state import Phase
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.live.preconditions import Command, Grounds, changing
from rota.loop.live.side_threads import Aside
from rota.loop.live.small_decisions import has_plugins, is_small
from rota.loop.live.standby import Standby
from rota.loop.telemetry.metrics import CycleResult, Metrics, measure_cycle
from rota.loop.telemetry.tracing import span
from rota.model.ids import JobId
from rota.model.job import Job, Promise
from rota.model.plan import Binding, Eviction, Plan
from rota.model.policy import Policy
from rota.model.reasons import TOO_LATE
from rota.model.workload import ENDLESS_MS
from rota.snapshot.state import RunTimes, Snapshot
from rota.store.writing.batch import Batch

log = structlog.get_logger()

REST = 1.0
"""After each cycle the loop rests for this share of the cycle's time, so that other work gets its turn."""
LONGEST_SLEEP_S = 60.0
LATER_S = 0.25
"""After a change that can't let a job start."""
_SEEN_IN_JOBS = frozenset(f"job.{event.__name__}" for event in (Submitted, Bound, Started, Ended, Returned))
"""Events of which all that may start by them is seen in what became of jobs: who waits, who left room."""


class LiveLoop:
    """Follows the transactor."""

    def __init__(
        self,
        transactor: Transactor,
        policy: Policy,
        run_times: RunTimes,
        metrics: Metrics,
        host: PluginHost | None = None,
        decided_here: Callable[[Snapshot], bool] = is_small,
    ) -> None:
        """`run_times`: is asked by another thread. `decided_here`: what isn't worth a thread."""
        self.policy = policy
        self.plan = Plan()
        """The latest."""
        self.cycles = 0
        self.last_cycle_ms = 0
        self.last_cycle_s: float | None = None
        self.turn = asyncio.Lock()
        """Held from the snapshot until the decisions on it are committed. Every decision that takes
        resources, now or later, needs it: two at the same time could allocate the same resources."""
        self._aside = Aside("rota-decide")
        self._decided_here = decided_here
        self._has_plugins = has_plugins(policy)
        self._transactor = transactor
        self._memory = transactor.memory
        self._metrics = metrics
        self._host = host or PluginHost()
        self._standby = Standby()
        self._wake = asyncio.Event()
        self._looks: list[tuple[int, JobId]] = []
        """A heap: times at which to decide again, for that job ("": for all)."""
        self._deadlines: list[tuple[int, JobId]] = []
        self._later: asyncio.TimerHandle | None = None
        self._memory.cluster.set_run_times(run_times)

    # -- when to look

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        for state in batch.jobs:
            if state.phase is Phase.PENDING:
                self._look_for(state.job())
            if state.spec.deadline_ms is not None and not state.is_over:
                heappush(self._deadlines, (state.spec.deadline_ms, state.id))
        is_standby_low = self._standby.kept(batch)
        if (
            is_standby_low
            or self._may_let_start(batch)
            or batch.node_settings
            or batch.queues
            or batch.removed
        ):
            self._wake.set()
        elif batch.jobs:
            self._look_later()
        if batch.maintenance or batch.reservations:
            for moment_ms in moments.of_calendar(self._memory.calendar):
                self._look_at(moment_ms, JobId(""))
            self._wake.set()

    def _may_let_start(self, batch: Batch) -> bool:
        """Whether a job may start now that couldn't before. No: after a change that takes resources, or an
        end whose resources went to a task that stood by."""
        return bool(batch.jobs) and (
            any(event.kind not in _SEEN_IN_JOBS for event in batch.events)
            or any(state.phase is Phase.PENDING for state in batch.jobs)
            or any(one.ended_ms is not None and self._memory.leaves_room(one) for one in batch.attempts)
        )

    def _look_later(self) -> None:
        """Planned starts may have moved, and users may ask for them."""
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(LATER_S, self._wake.set)

    def set_policy(self, policy: Policy) -> None:
        """Decisions from now on. Whoever calls it has the turn."""
        self.policy = policy
        self._has_plugins = has_plugins(policy)
        self.remember()

    def look_again(self) -> None:
        """Something changed that no batch tells of: nodes, say."""
        self._wake.set()

    def remember(self) -> None:
        """After a start: all that is known already."""
        for state in self._memory.jobs.values():
            if state.phase is Phase.PENDING:
                self._look_for(state.job())
            if state.spec.deadline_ms is not None:
                self._deadlines.append((state.spec.deadline_ms, state.id))
        heapify(self._deadlines)
        for moment_ms in moments.of_calendar(self._memory.calendar):
            self._look_at(moment_ms, JobId(""))
        self._wake.set()

    def _look_for(self, job: Job) -> None:
        for moment_ms in moments.of_waiting(job, self.policy):
            self._look_at(moment_ms, job.id)

    def _look_at(self, moment_ms: int, job_id: JobId) -> None:
        if self._transactor.now_ms() < moment_ms < ENDLESS_MS:
            heappush(self._looks, (moment_ms, job_id))

    def _sleep_s(self) -> float:
        now_ms = self._transactor.now_ms()
        while self._looks and self._looks[0][1] and self._looks[0][1] not in self._memory.jobs:
            heappop(self._looks)
        times = [heap[0][0] for heap in (self._looks, self._deadlines) if heap]
        times += [start.start_ms for start in self.plan.starts[:1]]
        if not times:
            return LONGEST_SLEEP_S
        # A plan whose first start has come and didn't happen is looked at again, but not all the time.
        return min(LONGEST_SLEEP_S, max(0.25, (min(times) - now_ms) / 1000))

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._sleep_s()):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            if self._later is not None:
                self._later.cancel()
                self._later = None
            clock = asyncio.get_running_loop().time
            began = clock()
            try:
                async with self.turn:
                    await self._cycle()
            except Exception:
                log.exception("cycle.failed")
                self._metrics.observe_cycle(clock() - began, CycleResult.ERROR)
                await asyncio.sleep(1)
            await asyncio.sleep(REST * min(1.0, clock() - began))

    # -- a cycle

    async def _cycle(self) -> None:
        now_ms = self._transactor.now_ms()
        while self._looks and self._looks[0][0] <= now_ms:
            heappop(self._looks)
        await self._end_late(now_ms)
        began = perf_counter()
        snapshot = self.snapshot()
        grounds = Grounds(self._memory, snapshot)
        with span("cycle", waiting=self._memory.cluster.waiting_count):
            plan = await self._decided(snapshot, now_ms)
        self.plan = plan
        self.cycles, self.last_cycle_ms, self.last_cycle_s = self.cycles + 1, now_ms, perf_counter() - began
        scheduled = len({binding.job for binding in plan.bindings})
        measure_cycle(self._metrics, self.last_cycle_s, plan, scheduled=scheduled)
        failures = await self._transactor.do_each(list(self._commands(plan, grounds)))
        if any(failures):
            self._look_later()

    def snapshot(self) -> Snapshot:
        """In which equal jobs are expected to run equally long, also if one of them ends meanwhile."""
        self._memory.settle_usage()
        snapshot = self._memory.cluster.snapshot()
        return dataclasses.replace(snapshot, run_times=cache(snapshot.run_times))

    @asynccontextmanager
    async def own_turn(self, seconds: float) -> AsyncIterator[None]:
        """For others who decide something that takes room. Unavailable: a decision takes longer."""
        try:
            async with asyncio.timeout(seconds):
                await self.turn.acquire()
        except TimeoutError:
            raise Unavailable(
                f"a decision takes longer than {seconds:g} s", "try again in a moment"
            ) from None
        try:
            yield
        finally:
            self.turn.release()

    async def _decided(self, snapshot: Snapshot, now_ms: int) -> Plan:
        if not self._has_plugins and self._decided_here(snapshot):
            return self._decide(snapshot, now_ms)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._aside, self._decide, snapshot, now_ms)

    def _decide(self, snapshot: Snapshot, now_ms: int) -> Plan:
        with self.plugins() as plugins:
            return decide(snapshot, self.policy, now_ms, plugins)

    def close(self) -> None:
        """A decision that is under way is left."""
        self._aside.shutdown()

    def plugins(self) -> AbstractContextManager[Plugins]:
        return self._host.in_force(self.policy)

    async def _end_late(self, now_ms: int) -> None:
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            _, job_id = heappop(self._deadlines)
            state = self._memory.jobs.get(job_id)
            if state is not None and state.ending is None:
                try:
                    await self._transactor.do(changing(job_id, DeadlinePassed()), about=job_id)
                except Refused:
                    log.info("deadline.ignored", job=job_id)

    def _commands(self, plan: Plan, grounds: Grounds) -> Iterator[tuple[JobId, Command]]:  # noqa: C901, PLR0912 – one stanza for each kind of command
        by_job: dict[JobId, list[Binding]] = {}
        for binding in plan.bindings:
            by_job.setdefault(binding.job, []).append(binding)
        by_victim: dict[JobId, list[Eviction]] = {}
        # Those who stand by for the victims' rooms go first: their node would start them there at once.
        for eviction in plan.evictions:
            for job_id in self._memory.standing_by(eviction.job, eviction.node):
                by_victim[job_id] = [replace(eviction, job=job_id, ends_job=False)]
        for eviction in plan.evictions:
            by_victim.setdefault(eviction.job, []).append(eviction)
        for job_id, evictions in by_victim.items():
            gains = by_job.get(evictions[0].preemptor, ())
            yield job_id, grounds.evicting(job_id, evictions, gains)
        for job_id, bindings in by_job.items():
            yield job_id, grounds.binding(job_id, bindings)
        for start in plan.starts:
            state = self._memory.jobs.get(start.job)
            if start.promised and state is not None:
                promise = Promise(start.start_ms, start.placements)
                if state.promise != promise:
                    yield start.job, grounds.promising(start.job, promise)
        for entry in plan.waiting:
            if any(isinstance(refusal.reason, TOO_LATE) for refusal in entry.verdict.refusals):
                for job_id in entry.jobs:
                    yield job_id, changing(job_id, StartMissed())
        for job_id, node in self._standby.seats(plan):
            yield job_id, grounds.standing_by(job_id, node)
