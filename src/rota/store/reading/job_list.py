"""Which jobs a filter selects, newest first: the indexes it can be read along, and what is left to check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, select

from rota.lifecycle.state import TERMINAL, Phase
from rota.model.ids import JobId, Labels
from rota.store.keys import find_key, keys_of_array
from rota.store.reading.scan import EVERYTHING, MAX_STRETCHES, Check, Keys, Path, Scan, Span, Stretch
from rota.store.sql.tables import RoughPhase, jobs, labels
from rota.store.writing.write import in_chunks


class JobFilter(Struct, frozen=True, omit_defaults=True):
    """What is None or empty by default restricts nothing; an empty tuple elsewhere admits nothing."""

    projects: tuple[str, ...] | None = None
    users: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    phases: tuple[Phase, ...] | None = None
    name: str | None = None
    labels: Labels = ()
    """All of them."""
    array: int | None = None
    """The number that the ids of its elements begin with."""
    submitted_from_ms: int | None = None
    submitted_before_ms: int | None = None
    ids: tuple[JobId, ...] | None = None

    @property
    def admits_nothing(self) -> bool:
        return () in (self.projects, self.users, self.queues, self.phases, self.ids)


_PHASES_OF = {
    RoughPhase.OPEN: frozenset(Phase) - TERMINAL,
    RoughPhase.SUCCEEDED: frozenset((Phase.SUCCEEDED,)),
    RoughPhase.FAILED: TERMINAL - {Phase.SUCCEEDED},
}
_NOTHING = Keys([], None)
_SCAN = Scan(
    jobs.c.key,
    (jobs.c.spec, jobs.c.project, jobs.c.owner, jobs.c.queue, jobs.c.name, jobs.c.phase, jobs.c.submitted_ms),
    newest_first=True,
)


def select_keys(connection: Connection, wanted: JobFilter, before: int | None, limit: int) -> Keys:
    """`before`: the key that the page before ended with."""
    span = None if wanted.admits_nothing else _span(connection, wanted, before)
    if span is None:
        return _NOTHING
    if wanted.ids is not None:
        return _of_ids(connection, wanted.ids, _checks(wanted), span, limit)
    paths = [path for path in _paths(connection, wanted) if len(path.stretches) <= MAX_STRETCHES]
    if any(not path.stretches for path in paths):
        return _NOTHING
    return _SCAN.page(connection, paths, span, limit)


def _span(connection: Connection, wanted: JobFilter, before: int | None) -> Span | None:
    """Ids are given in the order of submission: a period is a span of keys. None: no job is in it."""
    above, below = EVERYTHING.above, EVERYTHING.below if before is None else before
    if wanted.array is not None:
        elements = keys_of_array(wanted.array)
        above, below = elements.start - 1, min(below, elements.stop)
    time, key = jobs.c.submitted_ms, jobs.c.key
    if wanted.submitted_from_ms is not None:
        later = select(key).where(time >= wanted.submitted_from_ms).order_by(time, key).limit(1)
        first = connection.execute(later).scalar()
        if first is None:
            return None
        above = max(above, first - 1)
    if wanted.submitted_before_ms is not None:
        earlier = select(key).where(time < wanted.submitted_before_ms)
        last = connection.execute(earlier.order_by(time.desc(), key.desc()).limit(1)).scalar()
        if last is None:
            return None
        below = min(below, last + 1)
    return Span(above, below)


def _of_ids(
    connection: Connection, ids: Iterable[JobId], checks: dict[str, Check], span: Span, limit: int
) -> Keys:
    keys = {key for key in map(find_key, ids) if key is not None and span.above < key < span.below}
    conditions = [check(jobs.c) for check in checks.values()]
    found: list[int] = []
    for some in in_chunks(sorted(keys, reverse=True)):
        statement = select(jobs.c.key).where(jobs.c.key.in_(some), *conditions).order_by(jobs.c.key.desc())
        found.extend(connection.execute(statement.limit(limit + 1 - len(found))).scalars())
        if len(found) > limit:
            return Keys(found[:limit], found[limit - 1])
    return Keys(found, None)


def _paths(connection: Connection, wanted: JobFilter) -> Iterator[Path]:
    """The whole table, and every index that the filter has a value for."""
    checks = _checks(wanted)

    def path(stretches: Sequence[Stretch], *covered: str) -> Path:
        return Path(stretches, [check for name, check in checks.items() if name not in covered])

    yield path([()])
    wanted_phases = frozenset(Phase if wanted.phases is None else wanted.phases)
    outcomes = [outcome for outcome, phases in _PHASES_OF.items() if phases & wanted_phases]
    ended = [(jobs.c.outcome, int(outcome)) for outcome in outcomes]
    told_by_outcome = all(_PHASES_OF[outcome] <= wanted_phases for outcome in outcomes)
    phases = ("phases",) if told_by_outcome else ()
    for field, column, values in (
        ("projects", jobs.c.project, wanted.projects),
        ("users", jobs.c.owner, wanted.users),
        ("queues", jobs.c.queue, wanted.queues),
        ("name", jobs.c.name, None if wanted.name is None else (wanted.name,)),
    ):
        if values is not None:
            yield path([((column, value), end) for value, end in product(set(values), ended)], field, *phases)
    if wanted.phases is not None:
        yield path([((jobs.c.phase, phase.value),) for phase in set(wanted.phases)], "phases")
    if wanted.name is not None and wanted.projects is not None:
        runs = [
            ((jobs.c.project, project), (jobs.c.name, wanted.name), end)
            for project, end in product(set(wanted.projects), ended)
        ]
        yield path(runs, "projects", "name", *phases)
    if wanted.labels:
        specs = _specs_with(connection, wanted.labels)
        covered = ("labels",) if len(wanted.labels) == 1 else ()
        yield path([((jobs.c.spec, spec),) for spec in specs], *covered)


def _checks(wanted: JobFilter) -> dict[str, Check]:
    """By the field of the filter."""
    checks: dict[str, Check] = {}
    if (projects := wanted.projects) is not None:
        checks["projects"] = lambda row: row.project.in_(projects)
    if (users := wanted.users) is not None:
        checks["users"] = lambda row: row.owner.in_(users)
    if (queues := wanted.queues) is not None:
        checks["queues"] = lambda row: row.queue.in_(queues)
    if (phases := wanted.phases) is not None:
        checks["phases"] = lambda row: row.phase.in_([phase.value for phase in phases])
    if (name := wanted.name) is not None:
        checks["name"] = lambda row: row.name == name
    if (start_ms := wanted.submitted_from_ms) is not None:
        checks["submitted_from_ms"] = lambda row: row.submitted_ms >= start_ms
    if (end_ms := wanted.submitted_before_ms) is not None:
        checks["submitted_before_ms"] = lambda row: row.submitted_ms < end_ms
    if wanted.labels:
        checks["labels"] = lambda row: and_(*(_has_label(row.spec, *pair) for pair in wanted.labels))
    return checks


def _has_label(spec: ColumnElement[int], label: str, value: str) -> ColumnElement[bool]:
    # Looked up for each row. An EXISTS could become a join, for which all specs with the label are read.
    found = select(labels.c.spec).where(
        labels.c.label == label, labels.c.value == value, labels.c.spec == spec
    )
    return found.scalar_subquery().is_not(None)


def _specs_with(connection: Connection, pairs: Labels) -> Sequence[int]:
    """Those with the rarest of the labels; not many more than can be of use."""
    return min(
        (
            connection.execute(
                select(labels.c.spec)
                .where(labels.c.label == label, labels.c.value == value)
                .limit(MAX_STRETCHES + 1)
            )
            .scalars()
            .all()
            for label, value in pairs
        ),
        key=len,
    )
