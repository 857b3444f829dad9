"""Sees what users are told, what servers keep and what tasks wrote; knows what must never happen."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from msgspec.structs import replace

from rota.api.cluster import NodeDocument
from rota.api.jobs import AttemptDocument, JobDetail, JobDocument
from rota.api.service import EventDocument
from rota.backends.backend import TaskRef
from rota.lifecycle.state import TERMINAL, EndReason, Phase
from rota.model.ids import JobId
from tests.crash.diary import Entry
from tests.crash.jobs import PAUSE_MS, Form
from tests.crash.rules import CLOCK_MS, Broken, demand
from tests.crash.task_witness import TaskWitness, name_of

_ENDS = {phase.value for phase in TERMINAL}


class Witness:
    """Threads may share it."""

    def __init__(self, *, is_calm: bool = False) -> None:
        """`is_calm`: nothing goes wrong, so nobody may be taken for lost."""
        self.is_done = threading.Event()
        self._is_calm = is_calm
        self._lock = threading.Lock()
        self._forms: dict[str, Form] = {}
        self._limits_s: dict[str, float] = {}
        self._told: dict[int, EventDocument] = {}
        self._told_over: set[str] = set()
        self._over: dict[str, JobDocument] = {}
        self._ended: dict[TaskRef, AttemptDocument] = {}
        self._tasks = TaskWitness()

    @property
    def counts(self) -> str:
        return f"{len(self._forms)} jobs, {len(self._tasks.began)} starts, {len(self._told)} events"

    # -- what users are told

    def accepted(self, jobs: Sequence[str], form: Form) -> None:
        with self._lock:
            again = [job for job in jobs if job in self._forms]
            demand(not again, "I1", f"accepted twice: {', '.join(again)}")
            self._forms.update(dict.fromkeys(jobs, form))

    def extended(self, job: str, limit_s: float) -> None:
        self._limits_s[job] = limit_s

    def told(self, event: EventDocument) -> None:
        last = len(self._told)
        demand(event.seq == last + 1, "I1", f"users are told of event {event.seq} after {last}")
        self._told[event.seq] = event
        is_false = self._is_calm and event.kind == "agent.Lost"
        demand(not is_false, "I0", f"agent {event.subject} counts as lost, and is there")
        if event.data.get("phase") in _ENDS:
            with self._lock:
                again = event.subject in self._told_over
                demand(not again, "I1", f"users are told twice that job {event.subject} is over")
                self._told_over.add(event.subject)

    # -- what is kept

    def all_accepted(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._forms)

    def jobs(self, accepted: frozenset[str], documents: Iterable[JobDocument]) -> None:
        """All that there are, and what was accepted before anybody looked."""
        kept = {document.id: document for document in documents}
        gone = sorted(accepted - kept.keys())
        demand(not gone, "I1", f"accepted, and not kept: {', '.join(gone)}")
        for job, document in kept.items():
            before = self._over.get(job)
            demand(before in (None, document), "I1", f"job {job} was {_ended(before)}, is {_ended(document)}")
            if document.is_over:
                self._over[job] = document

    def unfinished(self) -> set[str]:
        """As far as anybody was shown."""
        with self._lock:
            return self._forms.keys() - self._over.keys() - self._told_over

    def attempts(self, detail: JobDetail) -> None:
        job = detail.job.id
        for attempt in detail.attempts:
            ref = TaskRef(JobId(job), attempt.rank, attempt.fence)
            # Its phase is of the moment; all else is as it was kept.
            recorded, before = replace(attempt, phase=None), self._ended.get(ref)
            demand(
                before in (None, recorded),
                "I2",
                f"{name_of(ref)} had ended, {before}, and is changed, {recorded}",
            )
            if attempt.ended is not None:
                self._ended[ref] = recorded

    def nodes(self, nodes: Iterable[NodeDocument]) -> None:
        for node in nodes:
            for what, used in node.used.items():
                has = node.capacity.get(what, 0)
                demand(used <= has, "I3", f"{node.name} has {has} {what}, and {used} are in use")

    # -- what tasks wrote

    def entries(self, entries: Iterable[Entry]) -> None:
        self._tasks.entries(entries)

    # -- at the end

    def finished(self, details: Iterable[JobDetail], events: Iterable[EventDocument]) -> None:
        """Once nothing is unfinished any more."""
        recorded: dict[TaskRef, AttemptDocument] = {}
        for detail in details:
            self.attempts(detail)
            self._check_end(detail)
            for attempt in detail.attempts:
                recorded[TaskRef(JobId(detail.job.id), attempt.rank, attempt.fence)] = attempt
        kept = {event.seq: event for event in events}
        self._check_order(recorded, [one for one in kept.values() if one.kind == "job.Evicted"])
        for ref, entry in self._tasks.began.items():
            if ref not in recorded:
                raise Broken("I4", f"{name_of(ref)} ran on {entry.node}, and no such attempt is recorded")
            self._check_usage(ref, entry, recorded[ref])
        untrue = [seq for seq, event in self._told.items() if kept.get(seq) != event]
        demand(not untrue, "I1", f"users were told of events that aren't kept: {untrue[:5]}")

    def _check_end(self, detail: JobDetail) -> None:
        job = detail.job
        demand(job.is_over, "I1", f"job {job.id} is {job.phase.value}")
        for attempt in detail.attempts:
            ref = TaskRef(JobId(job.id), attempt.rank, attempt.fence)
            if attempt.reason is EndReason.EXITED:
                self._tasks.check_exit_code(ref, attempt.exit_code)
        if job.phase is Phase.SUCCEEDED:
            done = {
                one.rank for one in detail.attempts if (one.reason, one.exit_code) == (EndReason.EXITED, 0)
            }
            demand(len(done) == job.tasks, "I1", f"job {job.id} has succeeded with its tasks {sorted(done)}")
        if job.id in self._limits_s:
            demand(
                job.time_limit_s == self._limits_s[job.id],
                "I1",
                f"job {job.id} was granted {self._limits_s[job.id]} s, and its limit is {job.time_limit_s} s",
            )

    def _check_order(self, recorded: dict[TaskRef, AttemptDocument], evictions: list[EventDocument]) -> None:
        """A task that is evicted may end by itself before it is stopped: its job goes on without a pause."""
        by_rank: defaultdict[tuple[str, int], list[TaskRef]] = defaultdict(list)
        for ref, attempt in recorded.items():
            times = [one for one in (attempt.bound, attempt.started, attempt.ended) if one is not None]
            demand(times == sorted(times), "I4", f"{name_of(ref)}: bound, started and ended at {times}")
            demand(attempt.ended is not None, "I4", f"{name_of(ref)} is never recorded as ended")
            by_rank[ref.job, ref.rank].append(ref)
        for refs in by_rank.values():
            for earlier, later in pairwise(sorted(refs, key=lambda ref: ref.fence)):
                ended, bound = recorded[earlier].ended, recorded[later].bound
                assert ended is not None
                demand(
                    ended <= bound,
                    "I4",
                    f"{name_of(later)} is bound at {bound}, before {name_of(earlier)} ended at {ended}",
                )
                is_evicted = any(
                    one.subject == earlier.job and recorded[earlier].bound <= one.at <= ended
                    for one in evictions
                )
                has_failed = recorded[earlier].reason is EndReason.EXITED and not is_evicted
                if has_failed and self._is_alone(later):
                    pause_ms = _ms(bound) - _ms(ended)
                    text = f"{name_of(later)} is bound {pause_ms} ms after {name_of(earlier)} failed"
                    demand(pause_ms >= PAUSE_MS, "I1", text)

    def _is_alone(self, ref: TaskRef) -> bool:
        """Else others of its job may start meanwhile."""
        form = self._forms.get(ref.job)
        return form is not None and form.tasks == 1

    def _check_usage(self, ref: TaskRef, began: Entry, attempt: AttemptDocument) -> None:
        demand(attempt.node == began.node, "I4", f"{name_of(ref)} ran on {began.node}, not {attempt.node}")
        if attempt.reason is EndReason.LOST:
            return
        if attempt.started is None or attempt.ended is None:
            raise Broken("I4", f"{name_of(ref)} ran, and isn't charged for it: {attempt}")
        charged_ms = _ms(attempt.ended) - _ms(attempt.started)
        if (ran_ms := self._tasks.ran_ms(ref)) is not None:
            demand(
                charged_ms >= ran_ms - CLOCK_MS,
                "I4",
                f"{name_of(ref)} ran {ran_ms} ms, and is charged for {charged_ms}",
            )
        limit_s = self._forms[ref.job].limit_s if ref.job in self._forms else None
        if attempt.reason is EndReason.TIME_LIMIT and limit_s is not None:
            demand(
                charged_ms >= 1000 * limit_s - CLOCK_MS,
                "I4",
                f"{name_of(ref)} had {limit_s} s, and was ended after {charged_ms} ms",
            )


def _ended(document: JobDocument | None) -> str:
    return "unknown" if document is None else f"{document.phase.value} at {document.ended}"


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
