"""Which events a filter selects, in their order."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from sqlalchemy import Connection

from rota.store.reading.scan import EVERYTHING, MAX_STRETCHES, Check, Path, Scan, Span
from rota.store.sql.tables import events
from rota.store.writing.batch import EventRow


class EventFilter(Struct, frozen=True, omit_defaults=True):
    """None restricts nothing; an empty tuple admits nothing."""

    kinds: tuple[str, ...] | None = None
    subject: str | None = None
    projects: tuple[str, ...] | None = None
    """Only what belongs to one of these, and so nothing about nodes and queues."""

    @property
    def admits_nothing(self) -> bool:
        return () in (self.kinds, self.projects)

    def admits(self, event: EventRow) -> bool:
        return (
            (self.kinds is None or event.kind in self.kinds)
            and (self.subject is None or event.subject == self.subject)
            and (self.projects is None or event.project in self.projects)
        )


ALL_EVENTS = EventFilter()

_CHECKED = (events.c.kind, events.c.subject, events.c.project)
_FORWARDS = Scan(events.c.seq, _CHECKED, newest_first=False)
_BACKWARDS = Scan(events.c.seq, _CHECKED, newest_first=True)


def select_seqs(connection: Connection, wanted: EventFilter, after_seq: int, limit: int) -> list[int]:
    """Empty only if there is none: whoever follows events would take it for the end."""
    if wanted.admits_nothing:
        return []
    paths = _short_paths(wanted)
    at: int | None = after_seq
    while at is not None:
        found, at = _FORWARDS.page(connection, paths, Span(at, EVERYTHING.below), limit)
        if found:
            return found
    return []


def select_latest_seqs(connection: Connection, wanted: EventFilter, count: int) -> list[int]:
    """Newest first. Fewer only if there are no more."""
    if wanted.admits_nothing:
        return []
    paths = _short_paths(wanted)
    latest: list[int] = []
    at: int | None = EVERYTHING.below
    while at is not None and len(latest) < count:
        found, at = _BACKWARDS.page(connection, paths, Span(EVERYTHING.above, at), count - len(latest))
        latest += found
    return latest


def _short_paths(wanted: EventFilter) -> list[Path]:
    return [path for path in _paths(wanted) if len(path.stretches) <= MAX_STRETCHES]


def _paths(wanted: EventFilter) -> Iterator[Path]:
    checks: dict[str, Check] = {}
    if (kinds := wanted.kinds) is not None:
        checks["kinds"] = lambda row: row.kind.in_(kinds)
    if (subject := wanted.subject) is not None:
        checks["subject"] = lambda row: row.subject == subject
    if (projects := wanted.projects) is not None:
        checks["projects"] = lambda row: row.project.in_(projects)
    for name, column, values in (
        ("kinds", events.c.kind, wanted.kinds),
        ("subject", events.c.subject, None if wanted.subject is None else (wanted.subject,)),
        ("projects", events.c.project, wanted.projects),
    ):
        if values is not None:
            rest = [check for other, check in checks.items() if other != name]
            yield Path([((column, value),) for value in set(values)], rest)
    yield Path([()], list(checks.values()))
