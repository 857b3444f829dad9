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
from operator import attrgetter

from rota.backends.backend import TaskRef, TaskStart
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd
from rota.lifecycle.validate import ImpossibleState, validate
from rota.model.ids import JobId, NodeName
from rota.model.node import Node
from rota.model.run import MAX_BACKOFF_MS
from rota.store.writing.batch import Attempt, Batch, StoredEvent
from tests.faults.kept import Contents, Kept
from tests.faults.onlooker import Onlooker, Ran, name_of, names_of
from tests.faults.room import Held, oversubscribed

_FENCE = attrgetter("fence")
SEEN_WITHIN_MS = 100
"""Until it is seen that a task has ended, and left nobody behind."""


class Witness(Onlooker):
    def __init__(self, now_s: Callable[[], float]) -> None:
        super().__init__(now_s)
        self.kept = Kept()
        """As the server's store sees it at the moment."""
        self._sure: list[Batch] = []
        """All that has to be there even after a loss of power."""
        self._unheard: list[Batch] = []
        """Written, and nobody knows yet that they are."""
        self._power_was_lost = False
        self._paused_until_ms: dict[JobId, int] = {}
        """Before they are tried again."""
        self._least_limits_ms: dict[JobId, int] = {}
        """The shortest time limit that each job ever had."""
        self._acknowledged: dict[JobId, None] = {}
        self._nodes: dict[NodeName, Node] = {}
        """On which something has run."""
        self._told: dict[int, StoredEvent] = {}
        """Events that somebody who follows them was shown."""

    # -- what really happens on nodes

    def task_started(self, node: Node, start: TaskStart) -> None:
        super().task_started(node, start)
        self._nodes[node.name] = node
        ref = start.ref
        state = self.kept.jobs.get(ref.job)
        attempt = self.kept.attempts.get(ref)
        if state is None or attempt is None:
            self.broken("I4", f"{name_of(ref)} runs, and no such attempt is kept")
            return
        self.demand(not state.is_over, "I2", f"{name_of(ref)} starts, and its job is over")
        self.demand(attempt.ended_ms is None, "I2", f"{name_of(ref)} starts, and is recorded as ended")
        self._check_pause(state, attempt)
        self._runs(node, ref)
        complaint = oversubscribed(node, self._on(node))
        self.demand(not complaint, "I3", f"{node.name}: {complaint}")

    def _on(self, node: Node) -> list[Held]:
        return [
            Held(
                name_of(ref),
                self.kept.jobs[ref.job].spec.template.spec_of(ref.rank),
                self.kept.attempts[ref].gpu_devices,
            )
            for ref in self._running_on(node)
        ]

    def _check_pause(self, state: JobState, attempt: Attempt) -> None:
        early_ms = self._paused_until_ms.get(state.id, 0) - attempt.bound_ms
        self.demand(early_ms <= 0, "I1", f"job {state.id} is tried again {early_ms} ms too early")

    # -- what is kept

    def committed(self, batch: Batch, last_seq: int) -> None:
        """Right before it is written; `last_seq` is that of the events there are then."""
        more = last_seq - self.kept.last_seq
        if batch.events and not more:
            return  # The store has found it: kept before, when nobody could tell.
        self.note(f"kept: {_summary(batch)}")
        self.demand(more == len(batch.events), "I1", f"{more} events are kept, and not {len(batch.events)}")
        for state in batch.jobs:
            self._check_job(state)
        for attempt in sorted(batch.attempts, key=_FENCE):
            self._check_attempt(attempt, batch)
        self.kept.keep(batch)
        self._check_rooms(batch)
        self._unheard.append(batch)

    def heard(self) -> None:
        """Whoever wrote something knows of it now."""
        self._sure += self._unheard
        self._unheard = []

    def power_lost(self, damage: str) -> None:
        self.note(f"power: {damage}")
        self._power_was_lost = True

    def _check_job(self, state: JobState) -> None:
        if (limit_ms := state.spec.template.time_limit_ms) is not None:
            least_ms = self._least_limits_ms.get(state.id, limit_ms)
            self._least_limits_ms[state.id] = min(limit_ms, least_ms)
        try:
            validate(state)
        except ImpossibleState as error:
            self.broken("I0", str(error))
        before = self.kept.jobs.get(state.id)
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
            self.demand(not running, "I2", f"job {state.id} is over, and {names_of(running)} runs")
        if state.phase is Phase.SUCCEEDED:
            done = {ref.rank for ref, ran in self.ran.items() if ref.job == state.id and _succeeded(ran)}
            missing = [rank for rank in range(state.spec.template.task_count) if rank not in done]
            self.demand(not missing, "I1", f"job {state.id} has succeeded without its tasks {missing}")

    def _check_rooms(self, batch: Batch) -> None:
        """What the server counts as taken, where that has just changed, fits."""
        for name in sorted({task.node for state in batch.jobs for task in state.live} & self._nodes.keys()):
            held = [
                Held(f"{state.id}/{task.rank}", state.spec.template.spec_of(task.rank), task.gpu_devices)
                for state in self.kept.jobs.values()
                for task in state.live
                if task.node == name and task.has_room
            ]
            complaint = oversubscribed(self._nodes[name], held)
            self.demand(not complaint, "I3", f"{name}, as the server counts: {complaint}")

    def _note_pause(self, before: JobState, state: JobState) -> None:
        """Of a job with one task; with more, others of them may start meanwhile."""
        if state.retries > before.retries and state.spec.template.task_count == 1:
            retry = state.spec.retry
            assert retry.backoff_ms is not None, "scenarios say how long to pause"
            pause_ms = min(MAX_BACKOFF_MS, retry.backoff_ms << (state.retries - 1))
            self._paused_until_ms[state.id] = state.changed_ms + pause_ms

    def _check_attempt(self, attempt: Attempt, batch: Batch) -> None:
        ref = TaskRef(attempt.job, attempt.rank, attempt.fence)
        before = self.kept.attempts.get(ref)
        if before is not None:
            self.demand(before.ended_ms is None, "I4", f"{name_of(ref)} has ended, and is changed")
        times = [one for one in (attempt.bound_ms, attempt.started_ms, attempt.ended_ms) if one is not None]
        self.demand(times == sorted(times), "I4", f"{name_of(ref)}: bound, started and ended at {times}")
        if attempt.ended_ms is not None:
            self._check_end(ref, attempt)
        self._check_order(ref, attempt, batch.attempts)

    def _check_end(self, ref: TaskRef, attempt: Attempt) -> None:
        self.demand(ref not in self._running, "I2", f"{name_of(ref)} is recorded as ended, and runs")
        end = attempt.end
        if end is None or end.reason not in (EndReason.EXITED, EndReason.TIME_LIMIT):
            return
        recorded = f"{name_of(ref)} is recorded as {_told(end)}"
        really = self.ran.get(ref)
        if really is None or really.ended_s is None:
            self.broken("I1", f"{recorded}, and never ended")
            return
        is_seen = end.reason is EndReason.EXITED or (end.exit_code, end.signal) != (None, None)
        is_so = (really.exit_code, really.signal) == (end.exit_code, end.signal)
        self.demand(is_so or not is_seen, "I1", f"{recorded}, which it never was")
        if end.reason is EndReason.TIME_LIMIT:
            ran_ms, least_ms = 1000 * (really.ended_s - really.started_s), self._least_limits_ms[ref.job]
            self.demand(ran_ms >= least_ms - 1, "I4", f"{recorded} after {ran_ms:.0f} of {least_ms} ms")

    def _check_order(self, ref: TaskRef, attempt: Attempt, together: Iterable[Attempt]) -> None:
        kept = self.kept.attempts | {TaskRef(one.job, one.rank, one.fence): one for one in together}
        for other, known in kept.items():
            if (other.job, other.rank) == (ref.job, ref.rank) and other.fence < ref.fence:
                if known.ended_ms is None:
                    self.broken("I4", f"{name_of(ref)} is bound, and {name_of(other)} hasn't ended")
                else:
                    late_ms = known.ended_ms - attempt.bound_ms
                    self.demand(
                        late_ms <= 0,
                        "I4",
                        f"{name_of(ref)} is bound {late_ms} ms before {name_of(other)} ended",
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
        gone = [job for job in self._acknowledged if job not in self.kept.jobs]
        self.demand(not gone, "I1", f"accepted, and not kept: {', '.join(gone)}")
        untrue = [seq for seq, event in self._told.items() if self.kept.events.get(seq) != event]
        self.demand(not untrue, "I1", f"users were told of events that aren't kept: {untrue[:5]}")

    def recovered(self, found: Contents) -> None:
        """A server starts, and finds what there is: all that was written. After a loss of power, what nobody
        knew of may be missing: the last first, and each as a whole."""
        if not self._power_was_lost:
            self.heard()
        self.kept, unheard = Kept(), self._unheard
        for batch in self._sure:
            self.kept.keep(batch)
        difference = found.differs_from(self.kept.contents())
        while difference and unheard:
            self._sure.append(unheard.pop(0))
            self.kept.keep(self._sure[-1])
            difference = found.differs_from(self.kept.contents())
        self.demand(not difference, "I1", f"what is found isn't what was kept: {difference}")
        self._unheard, self._power_was_lost = [], False
        self.check_kept()

    # -- at the end

    def finished(self) -> None:
        for ref, ran in self.ran.items():
            attempt = self.kept.attempts.get(ref)
            self._check_usage(ref, ran, attempt)
        for ref, attempt in self.kept.attempts.items():
            self.demand(attempt.ended_ms is not None, "I4", f"{name_of(ref)} is never recorded as ended")

    def _check_usage(self, ref: TaskRef, ran: Ran, attempt: Attempt | None) -> None:
        if attempt is None or attempt.end is None or attempt.end.reason is EndReason.LOST:
            return
        self.demand(attempt.started_ms is not None, "I4", f"{name_of(ref)} ran, and isn't charged for it")
        if attempt.started_ms is None or attempt.ended_ms is None or ran.ended_s is None:
            return
        charged_ms, ran_ms = attempt.ended_ms - attempt.started_ms, (ran.ended_s - ran.started_s) * 1000
        if self.clocks_are_right:
            charged = f"{name_of(ref)} ran {ran_ms:.0f} ms, charged {charged_ms}"
            self.demand(charged_ms >= ran_ms - 1 - self.clocks_seem_off_ms, "I4", charged)
            if self.ends_are_seen:
                self.demand(charged_ms <= ran_ms + SEEN_WITHIN_MS, "I4", charged)


def _succeeded(ran: Ran) -> bool:
    return ran.exit_code == 0


def _told(end: TaskEnd) -> str:
    code = "" if end.exit_code is None else f" {end.exit_code}"
    return f"{end.reason.value}{code}"


def _summary(batch: Batch) -> str:
    events = [f"{event.kind} {event.subject}" for event in batch.events]
    ended = [f"{one.job}/{one.rank}#{one.fence}" for one in batch.attempts if one.ended_ms is not None]
    return ", ".join(events) + (f" (ended: {', '.join(ended)})" if ended else "")
