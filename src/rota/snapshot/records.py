"""Records of jobs, and what they were when a snapshot was taken.

A snapshot doesn't copy them: there may be a million. What changes after it was taken is noted in it, as it
was before. A thread that reads a snapshot looks at what is there now first, and then whether that was noted;
what is changed is noted first, and then changed. So it never sees a change that it isn't told of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from weakref import ref

from rota.model.ids import JobId
from rota.model.job import JobRecord


class FrozenRecords(Mapping[JobId, JobRecord]):
    """As they were. May be read by another thread than the one that changes them."""

    __slots__ = ("__weakref__", "_now", "_was")

    def __init__(self, now: dict[JobId, JobRecord]) -> None:
        self._now = now
        self._was: dict[JobId, JobRecord | None] = {}
        """Of jobs that have changed since. None: it wasn't there."""

    def __getitem__(self, job_id: JobId) -> JobRecord:
        record = self._now.get(job_id)
        if job_id in self._was:
            record = self._was[job_id]
        if record is None:
            raise KeyError(job_id)
        return record

    def __len__(self) -> int:
        return len(self.whole())

    def __iter__(self) -> Iterator[JobId]:
        return iter(self.whole())

    def whole(self) -> dict[JobId, JobRecord]:
        """A copy. Each of the two is copied in one go, so nothing can come between; and in this order."""
        found = self._now.copy()
        for job_id, record in self._was.copy().items():
            if record is None:
                found.pop(job_id, None)
            else:
                found[job_id] = record
        return found

    @property
    def is_current(self) -> bool:
        return not self._was

    def note(self, job_id: JobId, was: JobRecord | None) -> None:
        self._was.setdefault(job_id, was)


class Records:
    """As they are, by job. Only one thread may use it."""

    def __init__(self) -> None:
        self._now: dict[JobId, JobRecord] = {}
        self._frozen: list[ref[FrozenRecords]] = []
        """Those that somebody may still look at: mostly one, while it is decided on."""

    def __len__(self) -> int:
        return len(self._now)

    def __contains__(self, job_id: JobId) -> bool:
        return job_id in self._now

    def __getitem__(self, job_id: JobId) -> JobRecord:
        return self._now[job_id]

    def get(self, job_id: JobId) -> JobRecord | None:
        return self._now.get(job_id)

    def all(self) -> tuple[JobRecord, ...]:
        return tuple(self._now.values())

    def put(self, record: JobRecord) -> None:
        job_id = record.job.id
        self._note(job_id)
        self._now[job_id] = record

    def pop(self, job_id: JobId) -> JobRecord:
        self._note(job_id)
        return self._now.pop(job_id)

    def _note(self, job_id: JobId) -> None:
        for one in self._frozen:
            if (frozen := one()) is not None:
                frozen.note(job_id, self._now.get(job_id))

    def frozen(self) -> FrozenRecords:
        alive = [(one, frozen) for one in self._frozen if (frozen := one()) is not None]
        for _, frozen in alive:
            if frozen.is_current:
                return frozen
        fresh = FrozenRecords(self._now)
        self._frozen = [*(one for one, _ in alive), ref(fresh)]
        return fresh


def with_records(records: Mapping[JobId, JobRecord], others: Iterable[JobRecord]) -> dict[JobId, JobRecord]:
    """A copy in which these jobs are like this."""
    found = records.whole() if isinstance(records, FrozenRecords) else dict(records)
    found.update((record.job.id, record) for record in others)
    return found
