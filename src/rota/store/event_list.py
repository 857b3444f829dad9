"""Which events a filter selects, in their order."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from sqlalchemy import Connection

from rota.store.batch import EventRow
from rota.store.scan import EVERYTHING, MAX_STRETCHES, Check, Path, Scan, Span
from rota.store.tables import events


class EventFilter(Struct, frozen=True, omit_defaults=True):
    """None restricts nothing; an empty tuple admits nothing."""

    kinds: tuple[str, ...] | None = None
    subject: str | None = None
    projects: tuple[str, ...] | None = None
    """Only what belongs to one of these, and so nothing about nodes and queues."""

    def admits(self, event: EventRow) -> bool:
        return (
            (self.kinds is None or event.kind in self.kinds)
            and (self.subject is None or event.subject == self.subject)
            and (self.projects is None or event.project in self.projects)
        )


ALL_EVENTS = EventFilter()

_SCAN = Scan(events.c.seq, (events.c.kind, events.c.subject, events.c.project), newest_first=False)


def select_seqs(connection: Connection, wanted: EventFilter, after_seq: int, limit: int) -> list[int]:
    """Empty only if there is none: whoever follows events would take it for the end."""
    if () in (wanted.kinds, wanted.projects):
        return []
    paths = [path for path in _paths(wanted) if len(path.stretches) <= MAX_STRETCHES]
    at: int | None = after_seq
    while at is not None:
        found, at = _SCAN.page(connection, paths, Span(at, EVERYTHING.below), limit)
        if found:
            return found
    return []


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
