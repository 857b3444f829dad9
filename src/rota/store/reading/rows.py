"""Rows as what they were made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import MsgspecError, Struct, field, json
from sqlalchemy import Connection, bindparam, select

from rota.lifecycle.state import JobState, TaskEnd
from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate
from rota.store.keys import id_of
from rota.store.sql.tables import jobs, specs
from rota.store.writing.batch import Answer, Attempt, EventRow, StoredEvent, ToldEstimate
from rota.store.writing.encoding import SharedSpec, decode_shared, decode_state
from rota.store.writing.write import in_chunks

STATE = (jobs.c.key, jobs.c.spec, jobs.c.state)
"""The columns that `read_states` reads."""

_SPECS = select(specs.c.id, specs.c.body).where(specs.c.id.in_(bindparam("ids", expanding=True)))

_gpu_devices = json.Decoder(tuple[int, ...])
_task_end = json.Decoder(TaskEnd)
_estimate = json.Decoder(Estimate)


class States(Struct):
    """In the order of their rows."""

    readable: list[JobState] = field(default_factory=list)
    unreadable: list[tuple[JobId, str]] = field(default_factory=list)
    """Ids, and what is wrong: one row that is damaged doesn't hide the others."""


def read_states(connection: Connection, rows: Sequence[Any]) -> States:
    """Equal templates are one object in all of them."""
    shared = read_shared(connection, {row.spec for row in rows})
    states = States()
    for key, spec, body in rows:
        try:
            states.readable.append(decode_state(body, shared[spec]))
        except MsgspecError as error:
            states.unreadable.append((id_of(key), str(error)))
        except KeyError:
            states.unreadable.append((id_of(key), "its command can't be read"))
    return states


def read_shared(connection: Connection, ids: Iterable[int]) -> dict[int, SharedSpec]:
    """Those that can be read."""
    templates: dict[JobTemplate, JobTemplate] = {}
    found = {}
    for some in in_chunks(sorted(ids)):
        for id_, body in connection.execute(_SPECS, {"ids": some}):
            try:
                shared = decode_shared(body)
            except MsgspecError:
                continue
            template = templates.setdefault(shared.template, shared.template)
            found[id_] = SharedSpec(template, shared.run, shared.retry, shared.on_task_failure)
    return found


def read_attempt(row: Any) -> Attempt:
    return Attempt(
        id_of(row.job),
        row.rank,
        row.fence,
        NodeName(row.node),
        _gpu_devices.decode(row.gpu_devices),
        row.bound_ms,
        row.started_ms,
        row.ended_ms,
        None if row.end is None else _task_end.decode(row.end),
    )


def read_event(row: Any) -> StoredEvent:
    return StoredEvent(
        row.seq, EventRow(row.at_ms, row.kind, row.subject, row.project, row.by, bytes(row.data))
    )


def read_estimate(row: Any) -> ToldEstimate:
    return ToldEstimate(id_of(row.job), _estimate.decode(row.estimate), row.started_ms)


def read_answer(row: Any) -> Answer:
    return Answer(row.scope, row.key, row.request_sha256, row.status, bytes(row.body), row.at_ms)
