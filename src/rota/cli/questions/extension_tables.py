"""The answer to an extension as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from rota.api.questions import ExtensionDocument
from rota.cli.tables import BAD, GOOD, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.model.quantities import format_price, parse_timestamp_ms
from rota.views.folding import fold_names
from rota.views.times import Clock
from rota.views.wording import others_moved_text


def extension_tables(extension: ExtensionDocument, clock: Clock) -> Iterator[Shown]:
    style = GOOD if extension.granted else BAD
    text = Text().append(extension.job, style="bold")
    text.append(f" {extension.message or extension.answer}", style=style)
    if extension.granted and extension.end is not None:
        text.append(f", until {_time(extension.end, clock)}")
    yield text
    if extension.cost:
        verb = "costs" if extension.granted else "would cost"
        yield Text(f"the added time {verb} {format_price(round(extension.cost * 1_000_000))}", style=QUIET)
    if extension.in_the_way:
        yield ""
        yield heading("What prevents it")
        yield _in_the_way(extension, clock)
    if not extension.granted and extension.longest is not None:
        yield ""
        yield _longest(extension)
    if extension.moved:
        yield ""
        yield heading("Planned starts that move")
        yield _moved(extension, clock)
    if extension.others_moved:
        yield ""
        yield Text(others_moved_text(extension.others_moved), style=QUIET)


def _in_the_way(extension: ExtensionDocument, clock: Clock) -> Shown:
    table = new_table("what", "from", "nodes")
    for entry in extension.in_the_way:
        what = entry.message or f"{entry.kind} {entry.name}"
        table.add_row(what, _time(entry.start, clock), fold_names(entry.nodes))
    return table


def _longest(extension: ExtensionDocument) -> Text:
    if extension.longest == extension.had:
        return Text("no longer limit would be granted")
    return Text(f"the longest limit that would be granted: {extension.longest}")


def _moved(extension: ExtensionDocument, clock: Clock) -> Shown:
    table = new_table("job", "from", "to")
    for one in extension.moved:
        is_now = parse_timestamp_ms(one.from_) == clock.now_ms
        to = "no planned start" if one.to is None else _time(one.to, clock)
        table.add_row(one.job, "now" if is_now else _time(one.from_, clock), to)
    return table


def _time(at: str, clock: Clock) -> str:
    return clock.text(parse_timestamp_ms(at))
