"""`rota queues`: their state, and what operators do with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rota.api.cluster import QueueDocument
from rota.cli.client.connection import connect
from rota.cli.output import ListFormat, talk_of_change
from rota.cli.showing import clock, show_list
from rota.cli.tables import BAD, GOOD, PASSING, Shown, Table, new_table
from rota.cli.text import Text
from rota.model.calendar import QueueMode
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of, span_text

_STYLES = {QueueMode.OPEN: GOOD, QueueMode.PAUSED: PASSING, QueueMode.CLOSED: BAD}
_MEANINGS = {
    QueueMode.OPEN: "is open",
    QueueMode.PAUSED: "is paused: it accepts jobs and starts none",
    QueueMode.CLOSED: "is closed: it accepts no jobs; waiting jobs still start",
}


def queues(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.queues())
    show_list(found, output, lambda queue: queue.name, _tables)


def set_queues(names: Sequence[str], state: QueueMode, message: str, *, dry_run: bool) -> None:
    with connect() as server:
        for name in names:
            server.set_queue(name, state, message=message, dry_run=dry_run)
            talk_of_change(name, _MEANINGS[state], f"be {state.value}", dry_run=dry_run)


def _tables(some: Sequence[QueueDocument]) -> Iterable[Shown]:
    yield queues_table(some, clock())


def queues_table(some: Sequence[QueueDocument], now: Clock) -> Table:
    columns = ("queue", "state", "kind", "waiting", "running", "longest wait", "start within", "note")
    dropped = ("kind", "start within", "longest wait")
    table = new_table(*columns, right=("waiting", "running"), whole=("state",), dropped=dropped)
    for one in some:
        since = f"since {now.text(ms_of(one.since))}" if one.since and one.state is not QueueMode.OPEN else ""
        table.add_row(
            one.name,
            Text(one.state.value, style=_STYLES[one.state]),
            "interactive" if one.interactive else "batch",
            f"{one.waiting:,}",
            f"{one.running:,}",
            "" if one.longest_wait_s is None else span_text(round(one.longest_wait_s * 1000)),
            "" if one.timeout_s is None else span_text(round(one.timeout_s * 1000)),
            ": ".join(filter(None, (since, one_line(one.message)))),
        )
    return table
