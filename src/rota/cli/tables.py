"""The style of tables: a heading, upper-case column names, no lines."""

from __future__ import annotations

from collections.abc import Collection

from rich.table import Table
from rich.text import Text

from rota.model.verdict import Kind

QUIET = "dim"
GOOD = "green"
PASSING = "yellow"
BAD = "red"
KIND_STYLES = {Kind.NOT_NOW: PASSING, Kind.NEVER: BAD}


def heading(text: str) -> Text:
    return Text(text, style="bold")


def new_table(*columns: str, right: Collection[str] = ()) -> Table:
    """`right`: columns of numbers, aligned right and never wrapped."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=QUIET)
    for column in columns:
        table.add_column(
            column.upper(),
            justify="right" if column in right else "left",
            no_wrap=column in right,
            overflow="fold",
        )
    return table
