"""When something ends in a virtual cluster, and when it is worth deciding anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.model.workload import ENDLESS_MS

ANY_JOB = JobId("")
_FIRST_LOOK_MS = 1000


class Timetable:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.is_changed = True
        """Jobs came or left since the last plan."""
        self._ends: list[tuple[int, JobId, int]] = []
        """A heap: when, of which job the tasks that started when."""
        self._looks: list[tuple[int, JobId]] = []
        """A heap: when it is worth deciding anew, if that job still waits (ANY_JOB: if any does)."""
        self._edges: list[int] = []
        """A heap: when it is worth deciding anew though nothing may wait, since what runs may have to go."""
        self._planned_ms: int | None = None
        self._patience_ms = _FIRST_LOOK_MS

    def expect_end(self, job_id: JobId, started_ms: int, run_ms: int) -> None:
        end_ms = started_ms + run_ms
        if end_ms < ENDLESS_MS:
            heappush(self._ends, (end_ms, job_id, started_ms))

    def look_at(self, time_ms: int, job_id: JobId = ANY_JOB) -> None:
        """Unless the job has left by then, or runs."""
        if self.now_ms < time_ms < ENDLESS_MS:
            heappush(self._looks, (time_ms, job_id))

    def add_edge(self, time_ms: int) -> None:
        if self.now_ms < time_ms < ENDLESS_MS:
            heappush(self._edges, time_ms)

    def look_at_starts(self, plan: Plan) -> None:
        """Jobs may be able to start when they are planned to, though nothing else happens then. Where
        nothing comes of it, since plans by learnt run times slip, it is tried less and less often."""
        if self.is_changed or plan.bindings or plan.evictions:
            self._patience_ms = _FIRST_LOOK_MS
        else:
            self._patience_ms *= 2
        self.is_changed = False
        later = next((one.start_ms for one in plan.starts if one.start_ms > self.now_ms), ENDLESS_MS)
        look_ms = max(later, self.now_ms + self._patience_ms)
        self._planned_ms = look_ms if look_ms < ENDLESS_MS and later < ENDLESS_MS else None

    def next_ms(
        self, ends: Callable[[JobId, int], object], is_waiting: Callable[[JobId], bool]
    ) -> int | None:
        """The next moment that still matters; None: there is none. `ends`: whether tasks of that job that
        started then still run."""
        while self._ends and not ends(*self._ends[0][1:]):
            heappop(self._ends)
        while self._looks and (job_id := self._looks[0][1]) and not is_waiting(job_id):
            heappop(self._looks)
        found = [heap[0][0] for heap in (self._ends, self._looks) if heap]
        found += self._edges[:1]
        if self._planned_ms is not None:
            found.append(self._planned_ms)
        return max(self.now_ms, min(found)) if found else None

    def ends_until(self, to_ms: int) -> Iterator[tuple[int, JobId, int]]:
        """When, of which job the tasks that started when; each is told once."""
        while self._ends and self._ends[0][0] <= to_ms:
            yield heappop(self._ends)

    def advance(self, to_ms: int) -> bool:
        """Whether an edge is passed."""
        while self._looks and self._looks[0][0] <= to_ms:
            heappop(self._looks)
        is_edge = bool(self._edges) and self._edges[0] <= to_ms
        while self._edges and self._edges[0] <= to_ms:
            heappop(self._edges)
        if self._planned_ms is not None and self._planned_ms <= to_ms:
            self._planned_ms = None
        self.now_ms = to_ms
        return is_edge
