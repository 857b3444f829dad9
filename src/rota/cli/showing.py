"""Shows lists and single objects in the chosen format: a table, data, or names only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct

from rota.cli.output import ListFormat, OutputFormat, show, write, write_document
from rota.cli.tables import Shown
from rota.clock import now_ms
from rota.views.times import Clock

T = TypeVar("T", bound=Struct)


def clock() -> Clock:
    return Clock(now_ms())


def show_list(
    items: Sequence[T],
    output: ListFormat,
    names: Callable[[T], str],
    table: Callable[[Sequence[T]], Iterable[Shown]],
) -> None:
    match output:
        case ListFormat.NAME:
            write("".join(f"{names(one)}\n" for one in items))
        case ListFormat.JSON | ListFormat.YAML:
            write_document(items, OutputFormat(output.value))
        case ListFormat.TABLE | ListFormat.WIDE:
            show(table(items))


def show_one(item: T, output: OutputFormat, table: Callable[[T], Iterable[Shown]]) -> None:
    if output.is_table:
        show(table(item))
    else:
        write_document(item, output)
