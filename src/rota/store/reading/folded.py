"""Pages in which an array is one row, however many jobs it has: what it stands for is counted, not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId
from rota.store.errors import BadCursor
from rota.store.keys import find_key, first_key, id_of, keys_of_array, number_of
from rota.store.reading.job_list import JobFilter, select_keys
from rota.store.reading.queries import jobs_with_keys
from rota.store.sql.tables import jobs

FEWEST_KEYS = 64
"""Read at once. Behind an array of many jobs there may be another one: few of its keys are enough to see."""
LONGEST_SAMPLE = 20
TELLING = (
    Phase.FAILED,
    Phase.TIMED_OUT,
    Phase.PENDING,
    Phase.CREATED,
    Phase.SCHEDULED,
    Phase.RUNNING,
    Phase.CANCELLED,
    Phase.SUCCEEDED,
)
"""Of an array's jobs, those that say most about it first."""


class FoldedRow(NamedTuple):
    state: JobState
    """Of an array, of the job that says most about it."""
    counts: Mapping[Phase, int] | None
    """Of an array: how many of its jobs are in each phase. None: the job is by itself."""


class FoldedPage(NamedTuple):
    rows: list[FoldedRow]
    next: str | None
    """As of `JobPage`."""


_COUNTS = (
    select(jobs.c.phase, func.count())
    .where(
        # By phase: that index is narrow, and the table is not.
        jobs.c.phase.in_([phase.value for phase in Phase]),
        jobs.c.key >= bindparam("first"),
        jobs.c.key < bindparam("end"),
    )
    .group_by(jobs.c.phase)
)
_FIRST = (
    select(jobs.c.key)
    .where(
        jobs.c.phase == bindparam("phase"), jobs.c.key >= bindparam("first"), jobs.c.key < bindparam("end")
    )
    .order_by(jobs.c.phase, jobs.c.key)
    .limit(bindparam("most"))
)


def find_folded(connection: Connection, wanted: JobFilter, after: str | None, limit: int) -> FoldedPage:
    """Jobs and arrays, the newest first; arrays of which at least one job is wanted."""
    before = None if after is None else find_key(after)
    if after is not None and before is None:
        raise BadCursor(after)
    found: dict[int, int] = {}
    """Of each number, a job."""
    some = limit + 1
    while True:
        keys = select_keys(connection, wanted, before, some)
        for key in keys.found:
            found.setdefault(number_of(key), key)
        before = keys.next
        if before is not None and number_of(before) in found:
            # The rest of an array needn't be read, once one of it was.
            before = first_key(number_of(before))
        if len(found) > limit or before is None or not keys.found:
            break
        some = max(FEWEST_KEYS, limit + 1 - len(found))
    numbers = list(found)[:limit]
    if len(found) > limit:
        before = first_key(numbers[-1])
    rows = _rows(connection, {number: found[number] for number in numbers})
    return FoldedPage(rows, None if before is None else id_of(before))


def find_array(connection: Connection, number: int) -> FoldedRow | None:
    """None: there is no array of that number."""
    counts = _counts(connection, number)
    if not counts:
        return None
    [row] = _rows(connection, {number: keys_of_array(number).start})
    return row


def first_in(connection: Connection, number: int, phase: Phase, most: int = LONGEST_SAMPLE) -> list[JobId]:
    """The first of an array's jobs that are in a phase."""
    return [id_of(key) for key in _first(connection, number, phase, most)]


def _rows(connection: Connection, keys: Mapping[int, int]) -> list[FoldedRow]:
    """`keys`: a job of each number."""
    counts = {number: _counts(connection, number) for number, key in keys.items() if key != first_key(number)}
    telling = {
        number: _telling(connection, number, counts[number]) if number in counts else key
        for number, key in keys.items()
    }
    states = {state.id: state for state in jobs_with_keys(connection, list(telling.values()))}
    return [
        FoldedRow(states[job_id], counts.get(number))
        for number, key in telling.items()
        if (job_id := id_of(key)) in states
    ]


def _counts(connection: Connection, number: int) -> dict[Phase, int]:
    keys = keys_of_array(number)
    rows = connection.execute(_COUNTS, {"first": keys.start, "end": keys.stop})
    return {Phase(phase): count for phase, count in rows}


def _telling(connection: Connection, number: int, counts: Mapping[Phase, int]) -> int:
    phase = next(phase for phase in TELLING if counts.get(phase))
    [key] = _first(connection, number, phase, 1)
    return key


def _first(connection: Connection, number: int, phase: Phase, most: int) -> list[int]:
    keys = keys_of_array(number)
    wanted = {"phase": phase.value, "first": keys.start, "end": keys.stop, "most": most}
    return list(connection.execute(_FIRST, wanted).scalars())
