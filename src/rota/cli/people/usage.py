"""`rota usage` and `rota quota`: what projects have used, and what they may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rota.api.people import QuotaEntry, TenantDocument, UsageDocument
from rota.cli.client.connection import connect
from rota.cli.option_values import moment_of
from rota.cli.output import ListFormat, OutputFormat
from rota.cli.people.options import UsageKind
from rota.cli.showing import clock, show_list, show_one
from rota.cli.tables import BAD, Shown, heading, new_table
from rota.cli.text import Text
from rota.views.quoting import one_line
from rota.views.times import ms_of


def usage(since: str, by: UsageKind, output: OutputFormat) -> None:
    since_at = moment_of("--since", since, clock().now_ms)
    with connect() as server:
        found = server.usage(since=since_at, by=by.value)
    show_one(found, output, usage_tables)


def usage_tables(found: UsageDocument) -> Iterator[Shown]:
    yield heading(f"Used since {clock().text(ms_of(found.since))}")
    if not found.items:
        yield Text("nothing")
        return
    numbers = ("tasks", "core hours", "gpu hours", "memory, GiB hours")
    table = new_table(found.by, *numbers, right=numbers)
    for one in found.items:
        hours = (one.cpu_hours, one.gpu_hours, one.memory_gib_hours)
        table.add_row(one_line(one.name), f"{one.tasks:,}", *map(_hours, hours))
    yield table


def quota(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.quotas())
    show_list(found, output, lambda one: one.tenant, quota_tables)


def quota_tables(some: Sequence[TenantDocument]) -> Iterable[Shown]:
    if not some:
        yield Text("no quotas, and nothing was used")
        return
    columns = ("project", "weight", "due", "share", "resource", "quota", "held", "may borrow", "lends")
    right = ("weight", "due", "share", "quota", "held", "may borrow", "lends")
    table = new_table(*columns, right=right, dropped=("lends", "due", "may borrow", "weight", "share"))
    for one in some:
        first = (one_line(one.tenant), f"{one.weight:,}", _percent(one.due), _percent(one.share))
        for index, entry in enumerate(one.quotas):
            table.add_row(*(first if index == 0 else ("",) * 4), *_quota(entry))
        if not one.quotas:
            table.add_row(*first, "", "", "", "", "")
    yield table


def _quota(entry: QuotaEntry) -> tuple[str | Text, ...]:
    return (
        entry.resource,
        entry.quota,
        Text(entry.held, style=BAD if entry.held == entry.quota else ""),
        "what is idle" if entry.borrowable is None else entry.borrowable,
        entry.lendable,
    )


def _hours(hours: float) -> str:
    return f"{hours:,.2f}" if hours else "0"


def _percent(part: float) -> str:
    return f"{part:.1%}"
