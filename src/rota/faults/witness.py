"""Sees what really happens on the nodes, what is kept, and what users are told; knows what must never happen.

I0  nothing in the server fails by itself, and no job is in a state that no events lead to
I1  each acknowledged job reaches exactly one terminal state, by what really became of its tasks
I2  at most one live (job, attempt, fence) of a rank runs anywhere; stale starts and reports are refused
I3  no node is oversubscribed in any dimension, by what really runs there
I4  usage intervals (attempts) neither overlap nor miss
I5  after the faults the queue drains within two lease periods
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from operator import attrgetter

from msgspec import Struct

from rota.backends.backend import TaskRef, TaskStart
from rota.faults.room import oversubscribed
from rota.faults.tables import Tables
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd
from rota.lifecycle.validate import ImpossibleState, validate
from rota.model.ids import JobId
from rota.model.node import Node
from rota.store.batch import Attempt, Batch, StoredEvent

_FENCE = attrgetter("fence")


class Violation(Struct, frozen=True):
    invariant: str
    text: str
    at_s: float

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at_s:.3f} s: {self.text}"


class Ran(Struct):
    """One run of a task, as it was."""

    node: Node
    started_s: float
    ended_s: float | None = None
    end: TaskEnd | None = None


class Witness:
    def __init__(self, now_s: Callable[[], float]) -> None:
        self.trace: list[str] = []
        self.violation: Violation | None = None
        """The first."""
        self.tables = Tables()
        """What is kept, as the server's store sees it at the moment."""
        self.ran: dict[TaskRef, Ran] = {}
        self.clocks_are_right = True
        self._now_s = now_s
        self._running: dict[TaskRef, Node] = {}
        self._forgotten: set[TaskRef] = set()
        """By the node that ran them."""
        self._paused_until_ms: dict[JobId, int] = {}
        """Before they are tried again."""
        self._acknowledged: dict[JobId, None] = {}
        self._told: dict[int, StoredEvent] = {}
        """Events that somebody who follows them was shown."""

    def note(self, text: str) -> None:
        self.trace.append(f"{self._now_s():9.4f}  {text}")

    def digest(self) -> str:
        return sha256("\n".join(self.trace).encode()).hexdigest()

    def broken(self, invariant: str, text: str) -> None:
        if self.violation is None:
            self.violation = Violation(invariant, text, self._now_s())
            self.note(f"BROKEN {invariant}: {text}")

    def demand(self, holds: bool, invariant: str, text: str) -> None:
        if not holds:
            self.broken(invariant, text)

    # -- what really happens on nodes

    def task_started(self, node: Node, start: TaskStart) -> None:
        ref = start.ref
        self.note(f"{node.name}: {_name(ref)} runs")
        others = [one for one in self._running if (one.job, one.rank) == (ref.job, ref.rank)]
        self.demand(not others, "I2", f"{_name(ref)} starts while {_names(others)} runs")
        before = [one for one in self.ran if (one.job, one.rank) == (ref.job, ref.rank)]
        newer = [one for one in before if one.fence >= ref.fence and one not in self._forgotten]
        self.demand(not newer, "I2", f"{_name(ref)} starts after {_names(newer)} did")
        state = self.tables.jobs.get(ref.job)
        attempt = self.tables.attempts.get(ref)
        if state is None or attempt is None:
            self.broken("I4", f"{_name(ref)} runs, and no such attempt is kept")
            return
        self.demand(not state.is_over, "I2", f"{_name(ref)} starts, and its job is over")
        self.demand(attempt.ended_ms is None, "I2", f"{_name(ref)} starts, and is recorded as ended")
        self._check_pause(state, attempt)
        self.ran[ref] = Ran(node, self._now_s())
        self._running[ref] = node
        complaint = oversubscribed(node, self._on(node))
        self.demand(not complaint, "I3", f"{node.name}: {complaint}")

    def task_ended(self, node: Node, ref: TaskRef, end: TaskEnd) -> None:
        self.note(f"{node.name}: {_name(ref)} ends: {_told(end)}")
        self._running.pop(ref, None)
        if ref in self.ran:
            self.ran[ref].ended_s, self.ran[ref].end = self._now_s(), end

    def node_wiped(self, refs: list[TaskRef]) -> None:
        """It doesn't know what it has run: an order that wasn't confirmed may come again."""
        self._forgotten.update(refs)

    def _on(self, node: Node) -> list[tuple[JobState, Attempt]]:
        refs = [ref for ref, where in self._running.items() if where.name == node.name]
        return [(self.tables.jobs[ref.job], self.tables.attempts[ref]) for ref in refs]

    def _check_pause(self, state: JobState, attempt: Attempt) -> None:
        early_ms = self._paused_until_ms.get(state.id, 0) - attempt.bound_ms
        self.demand(early_ms <= 0, "I1", f"job {state.id} is tried again {early_ms} ms too early")

    # -- what is kept

    def committed(self, batch: Batch) -> None:
        """Right before it is written."""
        self.note(f"kept: {_summary(batch)}")
        for state in batch.jobs:
            self._check_job(state)
        for attempt in sorted(batch.attempts, key=_FENCE):
            self._check_attempt(attempt, batch)

    def _check_job(self, state: JobState) -> None:
        try:
            validate(state)
        except ImpossibleState as error:
            self.broken("I0", str(error))
        before = self.tables.jobs.get(state.id)
        if before is not None:
            was = f"job {state.id} was {before.phase.value}"
            self.demand(not before.is_over, "I1", f"{was}, and is {state.phase.value}")
            self.demand(before.fence <= state.fence, "I2", f"fences of job {state.id} go back")
            self._note_pause(before, state)
            if state.live and not before.live:
                together, least = len(state.live) + len(state.done), state.spec.template.min_count
                self.demand(together >= least, "I1", f"{together} of job {state.id} start, and not {least}")
        if state.is_over:
            running = [ref for ref in self._running if ref.job == state.id]
            self.demand(not running, "I2", f"job {state.id} is over, and {_names(running)} runs")
        if state.phase is Phase.SUCCEEDED:
            done = {ref.rank for ref, ran in self.ran.items() if ref.job == state.id and _succeeded(ran)}
            missing = [rank for rank in range(state.spec.template.task_count) if rank not in done]
            self.demand(not missing, "I1", f"job {state.id} has succeeded without its tasks {missing}")

    def _note_pause(self, before: JobState, state: JobState) -> None:
        """Of a job with one task; with more, others of them may start meanwhile."""
        if state.retries > before.retries and state.spec.template.task_count == 1:
            retry = state.spec.retry
            pause_ms = min(retry.max_backoff_ms, retry.backoff_ms << (state.retries - 1))
            self._paused_until_ms[state.id] = state.changed_ms + pause_ms

    def _check_attempt(self, attempt: Attempt, batch: Batch) -> None:
        ref = TaskRef(attempt.job, attempt.rank, attempt.fence)
        before = self.tables.attempts.get(ref)
        if before is not None:
            self.demand(before.ended_ms is None, "I4", f"{_name(ref)} has ended, and is changed")
        times = [one for one in (attempt.bound_ms, attempt.started_ms, attempt.ended_ms) if one is not None]
        self.demand(times == sorted(times), "I4", f"{_name(ref)}: bound, started and ended at {times}")
        if attempt.ended_ms is not None:
            self._check_end(ref, attempt)
        self._check_order(ref, attempt, batch.attempts)

    def _check_end(self, ref: TaskRef, attempt: Attempt) -> None:
        self.demand(ref not in self._running, "I2", f"{_name(ref)} is recorded as ended, and runs")
        end = attempt.end
        if end is not None and end.reason in (EndReason.EXITED, EndReason.TIME_LIMIT):
            really = self.ran.get(ref)
            self.demand(
                really is not None and really.end == end,
                "I1",
                f"{_name(ref)} is recorded as {_told(end)}, which it never was",
            )

    def _check_order(self, ref: TaskRef, attempt: Attempt, together: Iterable[Attempt]) -> None:
        kept = self.tables.attempts | {TaskRef(one.job, one.rank, one.fence): one for one in together}
        for other, known in kept.items():
            if (other.job, other.rank) == (ref.job, ref.rank) and other.fence < ref.fence:
                if known.ended_ms is None:
                    self.broken("I4", f"{_name(ref)} is bound, and {_name(other)} hasn't ended")
                else:
                    late_ms = known.ended_ms - attempt.bound_ms
                    self.demand(
                        late_ms <= 0, "I4", f"{_name(ref)} is bound {late_ms} ms before {_name(other)} ended"
                    )

    # -- what users are told

    def acknowledged(self, states: Sequence[JobState]) -> None:
        self.note(f"users: {', '.join(state.id for state in states)} accepted")
        self._acknowledged.update(dict.fromkeys(state.id for state in states))
        self.check_kept()

    def told(self, events: Sequence[StoredEvent]) -> None:
        for event in events:
            last = max(self._told, default=0)
            self.demand(event.seq == last + 1, "I1", f"users are told of event {event.seq} after {last}")
            self._told[event.seq] = event
        self.check_kept()

    def check_kept(self) -> None:
        """What users were told of is kept."""
        gone = [job for job in self._acknowledged if job not in self.tables.jobs]
        self.demand(not gone, "I1", f"accepted, and not kept: {', '.join(gone)}")
        untrue = [seq for seq, event in self._told.items() if self.tables.events.get(seq) != event]
        self.demand(not untrue, "I1", f"users were told of events that aren't kept: {untrue[:5]}")

    def recovered(self, tables: Tables) -> None:
        self.tables = tables
        self.check_kept()

    # -- at the end

    def finished(self) -> None:
        for ref, ran in self.ran.items():
            attempt = self.tables.attempts.get(ref)
            self._check_usage(ref, ran, attempt)
        for ref, attempt in self.tables.attempts.items():
            self.demand(attempt.ended_ms is not None, "I4", f"{_name(ref)} is never recorded as ended")

    def _check_usage(self, ref: TaskRef, ran: Ran, attempt: Attempt | None) -> None:
        if attempt is None or attempt.end is None or attempt.end.reason is EndReason.LOST:
            return
        self.demand(attempt.started_ms is not None, "I4", f"{_name(ref)} ran, and isn't charged for it")
        if attempt.started_ms is None or attempt.ended_ms is None or ran.ended_s is None:
            return
        charged_ms, ran_ms = attempt.ended_ms - attempt.started_ms, (ran.ended_s - ran.started_s) * 1000
        if self.clocks_are_right:
            self.demand(
                abs(charged_ms - ran_ms) <= 1, "I4", f"{_name(ref)} ran {ran_ms:.0f} ms, charged {charged_ms}"
            )


def _succeeded(ran: Ran) -> bool:
    return ran.end is not None and ran.end.succeeded


def _name(ref: TaskRef) -> str:
    return f"{ref.job}/{ref.rank}#{ref.fence}"


def _names(refs: Iterable[TaskRef]) -> str:
    return ", ".join(map(_name, refs))


def _told(end: TaskEnd) -> str:
    code = "" if end.exit_code is None else f" {end.exit_code}"
    return f"{end.reason.value}{code}"


def _summary(batch: Batch) -> str:
    events = [f"{event.kind} {event.subject}" for event in batch.events]
    ended = [f"{one.job}/{one.rank}#{one.fence}" for one in batch.attempts if one.ended_ms is not None]
    return ", ".join(events) + (f" (ended: {', '.join(ended)})" if ended else "")
