"""One batch, in the transaction of whoever calls: rows before what refers to them, events last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import json
from sqlalchemy import Connection, Executable, Table, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from rota.lifecycle.state import JobState, Phase
from rota.store.audit_list import AUDIT, Head, chained, find_head
from rota.store.audit_record import AuditRecord
from rota.store.keys import key_of
from rota.store.records import Kind, rows_of
from rota.store.sql.rendered import Rendered
from rota.store.sql.tables import (
    answers,
    attempts,
    audit,
    counters,
    estimates,
    events,
    jobs,
    labels,
    records,
    rough_phase_of,
    specs,
)
from rota.store.writing.batch import Answer, Attempt, Batch, EventRow, ToldEstimate
from rota.store.writing.encoding import SharedSpec, encode_shared, encode_state, shared_part

Rows = list[dict[str, Any]]
T = TypeVar("T")

EVENTS = "events"
"""The counter of events: the latest one's seq."""
NUMBERS = "numbers"
"""The counter of jobs: the highest number that was given out."""
EPOCH = "epoch"
"""The counter of epochs: the latest. About when a server began to lead, in seconds."""
PRUNED = "pruned"
"""The highest number of a job that was removed. No counter in the strict sense: it is raised to a value."""
LOGS_PRUNED = "logs pruned"
"""What jobs wrote that ended up to then, in milliseconds, was removed."""
_JOBS_IN = "jobs "

_MANY = 2_500
"""Values in one IN (…): below what either database can take."""
_REMEMBERED_SPECS = 10_000

_encode = json.Encoder().encode


def jobs_in(phase: Phase) -> str:
    """The counter of all jobs in a phase."""
    return f"{_JOBS_IN}{phase.value}"


class Written(NamedTuple):
    """How far a database has come with a batch."""

    last_seq: int
    """Of the last event there is."""
    last_audit: int
    """Of the last audit record; 0: the batch had none."""


class BatchWriter:
    """Knows the statements of one database, and remembers where shared specs are."""

    def __init__(self, dialect: str) -> None:
        # The same words in both, but two classes.
        insert_into: Callable[[Table], Any] = sqlite.insert if dialect == "sqlite" else postgresql.insert

        def replacing(table: Table) -> Any:
            statement = insert_into(table)
            changed = {
                column.name: statement.excluded[column.name] for column in table.c if not column.primary_key
            }
            return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed)

        adding = insert_into(counters)
        counting = adding.on_conflict_do_update(
            index_elements=["name"], set_={"value": counters.c.value + adding.excluded.value}
        )
        self._count = Rendered(counting, dialect)
        self._add = Rendered(counting.returning(counters.c.value), dialect)
        self._put_attempts = Rendered(replacing(attempts), dialect)
        self._new_jobs = Rendered(insert(jobs), dialect)
        self._changed_jobs = Rendered(_CHANGED_JOB, dialect)
        self._new_events = Rendered(insert(events), dialect)
        self._new_audit = Rendered(insert(audit), dialect)
        self._put_estimates = replacing(estimates)
        self._put_records = replacing(records)
        self._put_specs = insert_into(specs).on_conflict_do_nothing()
        self._put_labels = insert_into(labels).on_conflict_do_nothing()
        self._put_answers = insert_into(answers).on_conflict_do_nothing()
        self._spec_ids: dict[bytes, int] = {}
        self._audit_head: Head | None = None

    def forget(self) -> None:
        """What it remembers may not be so any more: a transaction failed, or another server wrote."""
        self.forget_specs()
        self._audit_head = None

    def forget_specs(self) -> None:
        """Some may not be there any more."""
        self._spec_ids.clear()

    def write(self, connection: Connection, batch: Batch) -> Written:
        self._write_jobs(connection, batch.jobs)
        self._put_attempts.many(connection, [_attempt_row(attempt) for attempt in batch.attempts])
        _many(connection, self._put_estimates, [_estimate_row(estimate) for estimate in batch.estimates])
        _many(connection, self._put_answers, [_answer_row(answer) for answer in batch.answers])
        _many(connection, self._put_records, list(rows_of(batch)))
        for removal, name in batch.removed:
            connection.execute(_REMOVE, {"the_kind": Kind.of(removal).value, "the_name": name})
        last_seq = self.add(connection, EVENTS, len(batch.events))
        first = last_seq - len(batch.events) + 1
        self._new_events.many(
            connection, [_event_row(first + at, row) for at, row in enumerate(batch.events)]
        )
        return Written(last_seq, self._write_audit(connection, batch.audit, first))

    def _write_audit(self, connection: Connection, records: Sequence[AuditRecord], first_event: int) -> int:
        if not records:
            return 0
        head = self._audit_head or find_head(connection)
        rows = chained(head, records, first_event)
        self._new_audit.many(connection, rows)
        self._count.one(connection, {"name": AUDIT, "value": len(rows)})
        self._audit_head = Head(rows[-1]["seq"], rows[-1]["hash"])
        return self._audit_head.seq

    def add(self, connection: Connection, counter: str, amount: int) -> int:
        """What it then is."""
        return int(self._add.one(connection, {"name": counter, "value": amount}).scalar_one())

    def raise_to(self, connection: Connection, counter: str, value: int) -> None:
        """Unless it is as high already."""
        now = self.add(connection, counter, 0)
        if now < value:
            self.add(connection, counter, value - now)

    def _write_jobs(self, connection: Connection, states: Sequence[JobState]) -> None:
        by_key = {key_of(state.id): state for state in states}
        before: dict[int, str] = {}
        for some in in_chunks(list(by_key)):
            before.update(connection.execute(_PHASES, {"keys": some}).all())
        new = {key: state for key, state in by_key.items() if key not in before}
        spec_ids = self._intern(connection, dict.fromkeys(shared_part(state.spec) for state in new.values()))
        self._new_jobs.many(
            connection,
            [_job_row(key, state, spec_ids[shared_part(state.spec)]) for key, state in new.items()],
        )
        self._changed_jobs.many(connection, [_changed_row(key, by_key[key]) for key in before])
        change = Counter(state.phase.value for state in by_key.values())
        change.subtract(before.values())
        self._count.many(
            connection,
            [
                {"name": f"{_JOBS_IN}{phase}", "value": amount}
                for phase, amount in sorted(change.items())
                if amount
            ],
        )

    def _intern(self, connection: Connection, wanted: Iterable[SharedSpec]) -> dict[SharedSpec, int]:
        if len(self._spec_ids) > _REMEMBERED_SPECS:
            self._spec_ids.clear()
        encoded = {shared: encode_shared(shared) for shared in wanted}
        self._find_specs(connection, [digest for digest, _ in encoded.values()])
        missing = {shared: one for shared, one in encoded.items() if one[0] not in self._spec_ids}
        if missing:
            _many(
                connection,
                self._put_specs,
                [{"sha256": digest, "body": body} for digest, body in missing.values()],
            )
            self._find_specs(connection, [digest for digest, _ in missing.values()])
            _many(
                connection,
                self._put_labels,
                [
                    {"label": label, "value": value, "spec": self._spec_ids[digest]}
                    for shared, (digest, _) in missing.items()
                    for label, value in shared.template.labels
                ],
            )
        return {shared: self._spec_ids[digest] for shared, (digest, _) in encoded.items()}

    def _find_specs(self, connection: Connection, digests: Iterable[bytes]) -> None:
        for some in in_chunks([digest for digest in digests if digest not in self._spec_ids]):
            self._spec_ids.update(connection.execute(_SPECS, {"digests": some}).all())


def in_chunks(values: Sequence[T]) -> Iterable[Sequence[T]]:
    return (values[at : at + _MANY] for at in range(0, len(values), _MANY))


_PHASES = select(jobs.c.key, jobs.c.phase).where(jobs.c.key.in_(bindparam("keys", expanding=True)))
_SPECS = select(specs.c.sha256, specs.c.id).where(specs.c.sha256.in_(bindparam("digests", expanding=True)))
_CHANGED_JOB = (
    update(jobs)
    .where(jobs.c.key == bindparam("the_key"))
    .values({name: bindparam(name) for name in ("phase", "outcome", "ended_ms", "state")})
)
_REMOVE = delete(records).where(
    records.c.kind == bindparam("the_kind"), records.c.name == bindparam("the_name")
)


def _many(connection: Connection, statement: Executable, rows: Rows) -> None:
    if rows:
        connection.execute(statement, rows)


def _job_row(key: int, state: JobState, spec_id: int) -> dict[str, Any]:
    template = state.spec.template
    return {
        "key": key,
        "id": state.id,
        "spec": spec_id,
        "project": template.project,
        "owner": template.user,
        "queue": template.queue,
        "name": state.spec.name,
        "phase": state.phase.value,
        "outcome": int(rough_phase_of(state)),
        "submitted_ms": state.submitted_ms,
        "ended_ms": state.ended_ms,
        "state": encode_state(state),
    }


def _changed_row(key: int, state: JobState) -> dict[str, Any]:
    return {
        "the_key": key,
        "phase": state.phase.value,
        "outcome": int(rough_phase_of(state)),
        "ended_ms": state.ended_ms,
        "state": encode_state(state),
    }


def _attempt_row(attempt: Attempt) -> dict[str, Any]:
    return {
        "job": key_of(attempt.job),
        "fence": attempt.fence,
        "rank": attempt.rank,
        "node": attempt.node,
        "gpu_devices": _encode(attempt.gpu_devices).decode(),
        "bound_ms": attempt.bound_ms,
        "started_ms": attempt.started_ms,
        "ended_ms": attempt.ended_ms,
        "end": None if attempt.end is None else _encode(attempt.end),
    }


def _estimate_row(told: ToldEstimate) -> dict[str, Any]:
    return {
        "job": key_of(told.job),
        "told_ms": told.estimate.told_ms,
        "started_ms": told.started_ms,
        "estimate": _encode(told.estimate),
    }


def _answer_row(answer: Answer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in answer.__struct_fields__}


def _event_row(seq: int, row: EventRow) -> dict[str, Any]:
    return {
        "seq": seq,
        "at_ms": row.at_ms,
        "kind": row.kind,
        "subject": row.subject,
        "project": row.project,
        "by": row.by,
        "data": row.data,
    }
