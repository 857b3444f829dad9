"""Who starts later, as far as this cycle has come: places in the calendar, promised or merely planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from rota.engine.scope import Turn
from rota.model.calendar import PlannedStart
from rota.model.ids import JobId, NodeName


class Starts:
    def __init__(self, now_ms: int) -> None:
        self._starts: dict[JobId, PlannedStart] = {}
        self._queue_of: dict[JobId, tuple[str, str]] = {}
        """Of jobs that were given a place: their scheduler and queue."""
        self._count: Counter[tuple[str, str]] = Counter()
        """How many of each were."""
        self.given = 0
        """How often a job was given a place."""
        self.last_ms = now_ms
        """The start of the job that was given a place last."""

    def hold(self, promised: PlannedStart) -> None:
        """A place that was promised in an earlier cycle."""
        self._starts[promised.job] = promised

    def give(self, planned: PlannedStart, turn: Turn) -> None:
        """A place for a job of this queue."""
        queue = turn.scheduler.name, turn.queue.name
        self._starts[planned.job] = planned
        self._queue_of[planned.job] = queue
        self._count[queue] += 1
        self.last_ms = planned.start_ms
        self.given += 1

    def drop(self, job_id: JobId) -> None:
        del self._starts[job_id]
        if job_id in self._queue_of:
            self._count[self._queue_of.pop(job_id)] -= 1

    def count(self, turn: Turn) -> int:
        """How many jobs of the queue have been given a place."""
        return self._count[turn.scheduler.name, turn.queue.name]

    def __contains__(self, job_id: JobId) -> bool:
        return job_id in self._starts

    def start_of(self, job_id: JobId) -> int | None:
        """When a waiting job will start, if it has a place."""
        planned = self._starts.get(job_id)
        return None if planned is None else planned.start_ms

    def is_promised(self, job_id: JobId) -> bool:
        return job_id in self._starts and self._starts[job_id].promised

    def nodes_of(self, job_id: JobId) -> list[NodeName]:
        """Where a waiting job will start, if it has a place."""
        planned = self._starts.get(job_id)
        return [] if planned is None else [placement.node for placement in planned.placements]

    def from_on(self, job_id: JobId) -> list[PlannedStart]:
        """The places of this job and of all that were given theirs after it."""
        planned = list(self._starts.values())
        return planned[list(self._starts).index(job_id) :]

    def without(self, gone: Collection[JobId]) -> tuple[PlannedStart, ...]:
        """All places but those of jobs that are gone, the earliest first."""
        planned = (start for job_id, start in self._starts.items() if job_id not in gone)
        return tuple(sorted(planned, key=lambda start: (start.start_ms, start.job)))
