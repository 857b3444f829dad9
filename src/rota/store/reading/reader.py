"""What is asked of the database. The queries themselves are in modules of their own."""

from __future__ import annotations

from typing import NamedTuple

from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId, NodeName
from rota.store.audit_list import ALL_RECORDS, AuditFilter, AuditPage, check_chain, find_audit
from rota.store.audit_record import AuditCheck
from rota.store.reading import queries
from rota.store.reading.event_list import ALL_EVENTS, EventFilter
from rota.store.reading.folded import FoldedPage, FoldedRow, find_array, find_folded, first_in
from rota.store.reading.job_list import JobFilter
from rota.store.reading.load import Loaded, load, without_collection
from rota.store.reading.queries import EndedJob, JobPage
from rota.store.reading.usage_list import HeldTime, find_held
from rota.store.sql.connections import Connections
from rota.store.writing.batch import Answer, Attempt, StoredEvent, ToldEstimate


class ArrayFound(NamedTuple):
    row: FoldedRow
    first: dict[Phase, list[JobId]]
    """Of its jobs in each phase, the first few."""


class StoreReader:
    """Every method may be called from any thread, sees one state throughout, and neither waits for the writer
    nor makes it wait. All raise StoreUnavailable when the database can't be used now; the next call tries
    again."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections

    def load(self) -> Loaded:
        with self.connections.read() as connection, without_collection():
            return load(connection)

    def jobs(self, wanted: JobFilter, after: str | None = None, limit: int = 100) -> JobPage:
        """Raises BadCursor for an `after` that no page ended with."""
        with self.connections.read() as connection:
            return queries.find_jobs(connection, wanted, after, limit)

    def job(self, job: JobId) -> JobState | None:
        with self.connections.read() as connection:
            return queries.find_job(connection, job)

    def jobs_of_array(self, number: int) -> list[JobState]:
        """By index."""
        with self.connections.read() as connection:
            return queries.jobs_of_array(connection, number)

    def folded_jobs(self, wanted: JobFilter, after: str | None = None, limit: int = 100) -> FoldedPage:
        """With arrays as one row each. Raises BadCursor for an `after` that no page ended with."""
        with self.connections.read() as connection:
            return find_folded(connection, wanted, after, limit)

    def array(self, number: int) -> ArrayFound | None:
        """Of one moment; None: there is none of that number."""
        with self.connections.read() as connection:
            row = find_array(connection, number)
            if row is None or row.counts is None:
                return None
            return ArrayFound(row, {phase: first_in(connection, number, phase) for phase in row.counts})

    def attempts_of_array(self, number: int, limit: int) -> list[Attempt]:
        with self.connections.read() as connection:
            return queries.find_attempts_of_array(connection, number, limit)

    def was_removed(self, job: JobId) -> bool:
        """Of a job that isn't there: whether it was, and its time was over."""
        with self.connections.read() as connection:
            return queries.was_removed(connection, job)

    def ended_jobs(self, after: EndedJob, up_to_ms: int, limit: int) -> list[EndedJob]:
        """In the order of their ends."""
        with self.connections.read() as connection:
            return queries.find_ended(connection, after, up_to_ms, limit)

    def logs_pruned_ms(self) -> int:
        """What jobs wrote that ended up to then was removed; 0: nothing was."""
        with self.connections.read() as connection:
            return queries.logs_pruned_ms(connection)

    def job_with_attempts(self, job: JobId, limit: int = 1000) -> tuple[JobState, list[Attempt]] | None:
        """Both of one moment: the latest so many, in the order of their fences."""
        with self.connections.read() as connection:
            state = queries.find_job(connection, job)
            return None if state is None else (state, queries.find_attempts(connection, job, limit))

    def nodes_of(self, job: JobId) -> list[NodeName]:
        """Where tasks of it were sent; last the one with its latest attempt."""
        with self.connections.read() as connection:
            return queries.find_nodes(connection, job)

    def estimates(self, job: JobId) -> list[ToldEstimate]:
        """In the order in which they were told."""
        with self.connections.read() as connection:
            return queries.find_estimates(connection, job)

    def events(
        self, after_seq: int, limit: int = 1000, wanted: EventFilter = ALL_EVENTS
    ) -> list[StoredEvent]:
        """In their order; empty only if there is none after `after_seq`."""
        with self.connections.read() as connection:
            return queries.find_events(connection, after_seq, limit, wanted)

    def latest_events(self, count: int, wanted: EventFilter = ALL_EVENTS) -> list[StoredEvent]:
        """The newest so many, the oldest of them first."""
        with self.connections.read() as connection:
            return queries.find_latest_events(connection, count, wanted)

    def audit(
        self, wanted: AuditFilter = ALL_RECORDS, after: str | None = None, limit: int = 100
    ) -> AuditPage:
        """Newest first. Raises BadCursor for an `after` that no page ended with."""
        with self.connections.read() as connection:
            return find_audit(connection, wanted, after, limit)

    def check_audit(self) -> AuditCheck:
        """Whether each record follows from the one before it."""
        with self.connections.read() as connection:
            return check_chain(connection)

    def held(self, since_ms: int, until_ms: int) -> list[HeldTime]:
        """What tasks of jobs that are kept held between the two."""
        with self.connections.read() as connection:
            return find_held(connection, since_ms, until_ms)

    def answer(self, scope: str, key: str) -> Answer | None:
        with self.connections.read() as connection:
            return queries.find_answer(connection, scope, key)

    def counts(self) -> dict[Phase, int]:
        """All jobs that are kept, by phase."""
        with self.connections.read() as connection:
            return queries.count_jobs(connection)
