"""The answer to an extension as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rota.cli.tables import BAD, GOOD, QUIET, heading, new_table
from rota.model.extension import Extension
from rota.model.quantities import format_duration, format_price
from rota.views.extend.wording import answer_text, obstacle_text
from rota.views.folding import fold_names
from rota.views.times import Clock
from rota.views.wording import others_moved_text


def extension_tables(extension: Extension, clock: Clock) -> Iterator[RenderableType]:
    style = GOOD if extension.is_granted else BAD
    text = Text().append(extension.job, style="bold").append(f" {answer_text(extension)}", style=style)
    if extension.is_granted and extension.end_ms is not None:
        text.append(f", until {clock.text(extension.end_ms)}")
    yield text
    if extension.cost_micro:
        verb = "costs" if extension.is_granted else "would cost"
        yield Text(f"the time added {verb} {format_price(extension.cost_micro)}", style=QUIET)
    if extension.in_the_way:
        yield ""
        yield heading("In the way")
        yield _in_the_way(extension, clock)
    if not extension.is_granted and extension.longest_ms is not None:
        yield ""
        yield _longest(extension)
    if extension.moved:
        yield ""
        yield heading("Planned starts that move")
        yield _moved(extension, clock)
    if extension.others_moved:
        yield ""
        yield Text(others_moved_text(extension.others_moved), style=QUIET)


def _in_the_way(extension: Extension, clock: Clock) -> RenderableType:
    table = new_table("what", "from", "nodes")
    for entry in extension.in_the_way:
        table.add_row(obstacle_text(entry), clock.text(entry.start_ms), fold_names(entry.nodes))
    return table


def _longest(extension: Extension) -> Text:
    if extension.longest_ms == extension.had_ms:
        return Text("no longer limit than the one it has would be granted")
    return Text(f"the longest that would be granted: {format_duration(extension.longest_ms or 0)}")


def _moved(extension: Extension, clock: Clock) -> RenderableType:
    table = new_table("job", "from", "to")
    for one in extension.moved:
        to = "no place any more" if one.to_ms is None else clock.text(one.to_ms)
        table.add_row(one.job, _moment(one.from_ms, clock), to)
    return table


def _moment(at_ms: int, clock: Clock) -> str:
    return "now" if at_ms == clock.now_ms else clock.text(at_ms)
