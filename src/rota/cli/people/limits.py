"""`rota limits`: what a user may request and use, and who set the limit."""

from __future__ import annotations

from collections.abc import Iterator

from rota.api.people import LimitEntry, LimitsDocument
from rota.cli.client.connection import connect
from rota.cli.output import OutputFormat
from rota.cli.showing import show_one
from rota.cli.tables import BAD, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.views.quoting import one_line


def limits(user: str | None, project: str | None, output: OutputFormat) -> None:
    with connect() as server:
        found = server.limits(user=user, project=project)
    show_one(found, output, limits_tables)


def limits_tables(found: LimitsDocument) -> Iterator[Shown]:
    where = f" in project {one_line(found.project)}" if found.project else ""
    yield heading(f"Limits of {one_line(found.user)}{where}")
    if found.exempt:
        yield Text("default limits don't apply to operators and admins", style=QUIET)
    if not found.limits:
        yield Text("no limits")
        return
    table = new_table("limit", "allowed", "used", "of", "set by")
    for one in found.limits:
        table.add_row(one.limit, one_line(one.value), _used(one), one_line(one.of), one_line(one.set_by))
    yield table


def _used(entry: LimitEntry) -> Text:
    used = "" if entry.used is None else entry.used
    return Text(used, style=BAD if used == entry.value else "")
