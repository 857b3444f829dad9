"""Keeps an estimate of its start for every job that waits, and learns from what came of those before.

first of each queue ──► ahead.py, elsewhere ──► planned starts ──► Estimator ──► told, and kept
those behind them   ──► as fast as those before them will have started
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from heapq import nsmallest
from multiprocessing import get_context
from threading import Lock

import structlog
from msgspec import msgpack
from msgspec.structs import replace

from rota.api.jobs import EstimateDocument
from rota.control.draft import Draft
from rota.control.errors import Unavailable
from rota.control.transactor import Transactor
from rota.forecast.estimator import Estimator, EstimatorState, PlannedStarts
from rota.lifecycle.instructions import Instruction
from rota.lifecycle.state import JobState, Phase
from rota.loop.live import estimating as ahead
from rota.loop.live.side_threads import beside
from rota.model.cluster import ClusterRecords
from rota.model.estimate import Estimate, NoStart
from rota.model.ids import JobId, QueueName
from rota.model.job import Job, JobTemplate
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.signals import deaf_children
from rota.snapshot.state import Snapshot
from rota.store.writing.batch import Batch, ToldEstimate
from rota.views.estimates import no_start_text

log = structlog.get_logger()

LOOKED_AT = 200
"""Waiting jobs of each queue, the first in its order."""
LOOKED_AT_IN_ALL = 4000
"""Where there are many queues, fewer of each."""
PAUSE_S = 1.0
SHARE = 4
"""It rests this many times as long as it has worked."""
SAVE_MS = 30_000


def own_process() -> Executor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=ahead.end_with_parent)


class Forecaster:
    """Follows the transactor."""

    def __init__(
        self,
        transactor: Transactor,
        policy: Policy,
        learnt: bytes | None,
        make_pool: Callable[[], Executor] = own_process,
    ) -> None:
        """`make_pool`: where it looks ahead, made when it first does."""
        state = msgpack.decode(learnt, type=EstimatorState) if learnt else EstimatorState()
        self.estimator = Estimator(self._planned_start, state)
        self.never: frozenset[JobId] = frozenset()
        self._transactor = transactor
        self._memory = transactor.memory
        self._policy = policy
        self._planned: dict[JobId, PlannedStarts] = {}
        self._unknown: dict[JobId, NoStart] = {}
        """Of jobs that were looked at and of which nothing can be told, why."""
        self._told: dict[JobId, Estimate] = {}
        """To jobs that still wait: the first, which is learnt from."""
        self._latest: dict[JobId, Estimate] = {}
        self._started: list[ToldEstimate] = []
        self._is_changed = asyncio.Event()
        self._make_pool = make_pool
        self._pool: Executor | None = None
        self._saved_ms = 0
        self._learnt = False
        self._learning = Lock()
        """Those who decide ask for run times in other threads."""

    def _planned_start(
        self, snapshot: Snapshot, policy: Policy, now_ms: int, job: Job, plan: Plan
    ) -> PlannedStarts:
        return self._planned.get(job.id, PlannedStarts())

    def run_times(self, template: JobTemplate) -> tuple[int, ...]:
        with self._learning:
            return self.estimator.run_times(template)

    # -- what comes of it

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        self._is_changed.set()
        now_ms = self._transactor.now_ms()
        for state in batch.jobs:
            if state.started_ms is not None:
                self._note_start(state)
            if state.is_over:
                self._note_end(state, now_ms)

    def _note_start(self, state: JobState) -> None:
        told = self._told.pop(state.id, None)
        self._latest.pop(state.id, None)
        if told is not None and state.started_ms is not None:
            self.estimator.started(state.job(), state.started_ms)
            self._started.append(ToldEstimate(state.id, told, state.started_ms))
            self._learnt = True

    def _note_end(self, state: JobState, now_ms: int) -> None:
        self._latest.pop(state.id, None)
        if state.started_ms is None:
            if self._told.pop(state.id, None) is not None:
                self.estimator.withdrawn(state.id)
        elif state.ended_ms is not None and state.phase in (Phase.SUCCEEDED, Phase.FAILED, Phase.TIMED_OUT):
            run_ms = max(0, state.ended_ms - state.started_ms)
            with self._learning:
                self.estimator.ended(state.job(), run_ms, now_ms, state.phase is Phase.SUCCEEDED)
            self._learnt = True

    def set_policy(self, policy: Policy) -> None:
        """Of all looks ahead from now on."""
        self._policy = policy
        self._is_changed.set()

    # -- looking ahead

    def estimate(self, state: JobState) -> Estimate | None:
        """The latest estimate of a job that waits; None: there is none yet, or there can be none."""
        return self._estimated(state, self._waiting_before(state)) if state.phase is Phase.PENDING else None

    def _estimated(self, state: JobState, position: int) -> Estimate | None:
        if state.id in self.never or state.id in self._unknown:
            return None
        return self._latest.get(state.id) or self._beyond(state, position)

    def document(self, state: JobState) -> EstimateDocument:
        now_ms = self._transactor.now_ms()
        estimate, position = None, None
        reason: NoStart | None = None
        if state.phase is Phase.PENDING:
            position = self._waiting_before(state)
            estimate = self._estimated(state, position)
            if state.id in self.never:
                reason = NoStart.NEVER
            elif estimate is None and state.promise is None:
                reason = self._unknown.get(state.id, NoStart.NOT_YET)
        elif state.phase is Phase.CREATED:
            reason = NoStart.HELD if state.held else NoStart.DEPENDENCY
        else:
            reason = NoStart.STARTED if state.started_ms is not None else NoStart.OVER
        promise = state.promise
        if promise is not None and state.phase is Phase.PENDING:
            estimate = Estimate(now_ms, promise.start_ms, promise.start_ms, promise.start_ms)
        return EstimateDocument(
            job=state.id,
            told=time_of(estimate.told_ms if estimate else now_ms),
            expected=time_of(estimate.expected_ms) if estimate else None,
            bound=time_of(estimate.bound_ms) if estimate else None,
            latest=time_of(estimate.latest_ms) if estimate and estimate.latest_ms is not None else None,
            promised=promise is not None,
            position=position,
            reason=None if reason is None else no_start_text(reason),
        )

    def _waiting_before(self, state: JobState) -> int:
        """In its queue."""
        queue, mine = state.spec.template.queue, in_order(state)
        return sum(
            1
            for other in self._memory.jobs.values()
            if other.phase is Phase.PENDING and other.spec.template.queue == queue and in_order(other) < mine
        )

    def _beyond(self, state: JobState, position: int) -> Estimate | None:
        """Of a job behind those that were looked at: it waits as long per place as they do."""
        queue = state.spec.template.queue
        known = sorted(
            (one.expected_ms, one.bound_ms)
            for job_id, one in self._latest.items()
            if (other := self._memory.jobs.get(job_id)) is not None
            and other.phase is Phase.PENDING
            and other.spec.template.queue == queue
        )
        if not known:
            return None
        now_ms = self._transactor.now_ms()
        places = (position + 1) / len(known)
        expected_ms, bound_ms = (now_ms + round(places * max(0, last - now_ms)) for last in known[-1])
        return Estimate(now_ms, expected_ms, max(expected_ms, bound_ms))

    async def run(self) -> None:
        """Until it is cancelled."""
        clock = asyncio.get_running_loop().time
        try:
            while True:
                await self._is_changed.wait()
                self._is_changed.clear()
                began = clock()
                try:
                    await self._look_ahead()
                    await self._keep()
                except Unavailable:
                    self._is_changed.set()
                except Exception:
                    log.exception("forecast.failed")
                await asyncio.sleep(max(PAUSE_S, SHARE * (clock() - began)))
        finally:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)

    async def _look_ahead(self) -> None:
        states = list(self._memory.jobs.values())
        waiting = await beside(len(states), _first_waiting, states)
        if not waiting:
            self._planned, self._unknown, self.never = {}, {}, frozenset()
            return
        around = ClusterRecords(
            tuple(self._memory.nodes()), usage=self._memory.charges.usage(), calendar=self._memory.calendar
        )
        ask = partial(self._question, states, waiting, around, self._transactor.now_ms())
        question = await beside(len(states), ask)
        if self._pool is None:
            self._pool = self._make_pool()
        loop = asyncio.get_running_loop()
        with deaf_children():
            asked = loop.run_in_executor(self._pool, ahead.answer, question)
        try:
            answered = await asked
        except BrokenExecutor:
            # Its process was killed, by a lack of memory, say. The next look has a new one.
            self._pool = None
            raise
        forecast = msgpack.decode(answered, type=ahead.Forecast)
        self._planned, self._unknown = forecast.starts, forecast.unknown
        self.never = frozenset(forecast.never)
        for job_id in (*self.never, *self._unknown):
            # What was told before no longer holds, and nothing can be told instead.
            self._latest.pop(job_id, None)
        self._tell([state for state in waiting if state.id in forecast.starts])

    def _question(
        self, states: Sequence[JobState], waiting: Sequence[JobState], around: ClusterRecords, now_ms: int
    ) -> bytes:
        """Written down. In another thread, if there are many."""
        asked = {state.id: state for state in states if state.live} | {one.id: one for one in waiting}
        records = replace(around, jobs=tuple(state.record() for state in asked.values()))
        with self._learning:
            question = ahead.Question(records, self._policy, self.estimator.state.run_times, now_ms)
            return msgpack.encode(question)

    def _tell(self, waiting: Sequence[JobState]) -> None:
        snapshot = self._memory.cluster.snapshot()
        now_ms = self._transactor.now_ms()
        for state in waiting:
            now = self._memory.jobs.get(state.id)
            if now is None or now.phase is not Phase.PENDING:
                continue
            tell = self.estimator.look if state.id in self._told else self.estimator.waits
            estimate = tell(snapshot, self._policy, now_ms, state.job(), _NO_PLAN)
            if estimate is not None:
                self._latest[state.id] = estimate
                self._told.setdefault(state.id, estimate)

    async def _keep(self) -> None:
        now_ms = self._transactor.now_ms()
        started, self._started = self._started, []
        is_due = self._learnt and now_ms - self._saved_ms > SAVE_MS
        if started or is_due:
            try:
                await self._transactor.do(self._keeping(started, is_due))
            except Unavailable:
                self._started = started + self._started
                raise
            if is_due:
                self._saved_ms, self._learnt = now_ms, False

    async def save(self) -> None:
        """Before the server stops."""
        if self._learnt:
            await self._transactor.do(self._keeping(self._started, True))

    def _keeping(self, started: Sequence[ToldEstimate], learnt: bool) -> Callable[[Draft], None]:
        def command(draft: Draft) -> None:
            draft.batch.estimates += started
            if learnt:
                draft.batch.learnt = msgpack.encode(self.estimator.state)

        return command


_NO_PLAN = Plan()


def _first_waiting(states: Iterable[JobState]) -> list[JobState]:
    by_queue: dict[QueueName, list[JobState]] = {}
    for state in states:
        if state.phase is Phase.PENDING:
            by_queue.setdefault(state.spec.template.queue, []).append(state)
    of_each = min(LOOKED_AT, max(1, LOOKED_AT_IN_ALL // max(1, len(by_queue))))
    first = (nsmallest(of_each, queued, key=in_order) for queued in by_queue.values())
    return [state for some in first for state in some][:LOOKED_AT_IN_ALL]


def in_order(state: JobState) -> tuple[int, int, int]:
    """Who is before whom in a queue, as its user would expect."""
    return -state.spec.template.priority, state.submitted_ms, state.number


def time_of(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
