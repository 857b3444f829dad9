"""Tables: a heading, upper-case column names, no lines. They fit the terminal: long texts are wrapped between
words, or cut, and then columns are left out, the least important first. What identifies a row is never cut.
In a pipe or a file nothing is wrapped, cut or left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

from rota.cli.text import BAD, BOLD, GOOD, PASSING, QUIET, Text, as_text, width_of
from rota.model.verdict import Kind

__all__ = [
    "BAD",
    "GOOD",
    "KIND_STYLES",
    "PASSING",
    "QUIET",
    "Shown",
    "Table",
    "facts",
    "heading",
    "new_table",
]

KIND_STYLES = {Kind.NOT_NOW: PASSING, Kind.NEVER: BAD}
_GAP = 2
_LEAST = 6
"""A column of fewer letters says nothing."""
_LONGEST_ID = 40
"""A longer one is a text that somebody made up."""
_LONG_WORD = 20
"""Longer ones are cut where there is no room, and don't keep a column wide."""


def heading(text: str) -> Text:
    return Text(text, style=BOLD)


class _Column:
    def __init__(self, header: str, *, right: bool, whole: bool, at_most: int | None = None) -> None:
        self.header = header
        self.right = right
        self.whole = whole or right
        self.at_most = at_most


class Table:
    def __init__(
        self, *, dropped: Sequence[str] = (), in_one_line: bool = False, has_header: bool = True
    ) -> None:
        """`dropped`: columns that go where there is no room, the first of them first. `in_one_line`: cells
        are cut instead of wrapped."""
        self._columns: list[_Column] = []
        self._rows: list[list[Text]] = []
        self._dropped = [name.upper() for name in dropped]
        self._in_one_line = in_one_line
        self._has_header = has_header

    def add_column(
        self, header: str, *, right: bool = False, whole: bool = False, at_most: int | None = None
    ) -> None:
        """`whole`: never cut or wrapped. `at_most`: its width, where there is a terminal."""
        self._columns.append(_Column(header, right=right, whole=whole, at_most=at_most))

    def add_row(self, *cells: str | Text) -> None:
        self._rows.append([as_text(cell) for cell in cells])

    def lines(self, width: int | None, *, colours: bool) -> list[str]:
        """`width`: that of the terminal; None: there is none."""
        columns, widths = self._fitted(width)
        found: list[str] = []
        if self._has_header:
            header = [[Text(self._columns[at].header, QUIET).cut(widths[at])] for at in columns]
            found += self._row_lines(header, columns, widths, colours)
        for row in self._rows:
            cells = [self._cell(row[at], widths[at]) for at in columns]
            found += self._row_lines(cells, columns, widths, colours)
        return found

    def _cell(self, cell: Text, width: int) -> list[Text]:
        return [cell.cut(width)] if self._in_one_line else cell.wrapped(width)

    def _row_lines(
        self, cells: list[list[Text]], columns: list[int], widths: dict[int, int], colours: bool
    ) -> Iterator[str]:
        for height in range(max(map(len, cells), default=0)):
            parts: list[str] = []
            for at, lines in zip(columns, cells, strict=True):
                line = lines[height] if height < len(lines) else Text()
                padding = " " * (widths[at] - width_of(line.plain))
                shown = line.shown(colours=colours)
                parts.append(padding + shown if self._columns[at].right else shown + padding)
            yield (" " * _GAP).join(parts).rstrip()

    def _fitted(self, width: int | None) -> tuple[list[int], dict[int, int]]:
        """Which columns there is room for, and how wide each is."""
        natural = {at: self._natural(at) for at in range(len(self._columns))}
        columns = list(natural)
        if width is None:
            return columns, natural
        for at, column in enumerate(self._columns):
            if column.at_most is not None:
                natural[at] = min(natural[at], column.at_most)
        to_drop = [at for name in self._dropped for at in columns if self._columns[at].header == name]
        while True:
            widths = {at: natural[at] for at in columns}
            if self._shrink(widths, {at: self._floor(at, natural[at]) for at in columns}, width):
                return columns, widths
            if not to_drop:
                break
            columns.remove(to_drop.pop(0))
        # Words are cut now. If even that won't do, columns go that nobody thought of, from the right. What
        # identifies a row stays, and stays whole.
        while True:
            widths = {at: natural[at] for at in columns}
            if self._shrink(widths, {at: self._narrowest(at, natural[at]) for at in columns}, width):
                return columns, widths
            whole = [at for at in columns[1:] if self._columns[at].whole] or columns[1:]
            if not whole:
                return columns, widths
            columns.remove(whole[-1])

    def _narrowest(self, at: int, natural: int) -> int:
        return min(natural, _LONGEST_ID if self._columns[at].whole else self._least(at))

    def _natural(self, at: int) -> int:
        lines = (line for row in self._rows for line in row[at].plain.split("\n"))
        header = self._columns[at].header if self._has_header else ""
        return max(width_of(header), max(map(width_of, lines), default=0))

    def _floor(self, at: int, natural: int) -> int:
        """How narrow it may be without cutting words; in one line, without cutting too much."""
        if self._columns[at].whole:
            return min(natural, _LONGEST_ID)
        words = (word for row in self._rows for word in row[at].plain.split())
        longest = max((min(_LONG_WORD, width_of(word)) for word in words), default=0)
        return min(natural, max(self._least(at), longest))

    def _least(self, at: int) -> int:
        return max(_LEAST, width_of(self._columns[at].header))

    @staticmethod
    def _shrink(widths: dict[int, int], floors: dict[int, int], width: int) -> bool:
        """Makes the widest narrower, as far as it may be, until all fit. Whether they do."""
        while (excess := sum(widths.values()) + _GAP * (len(widths) - 1) - width) > 0:
            wide = [at for at in widths if widths[at] > floors[at]]
            if not wide:
                return False
            widest = max(wide, key=widths.__getitem__)
            next_width = max((widths[at] for at in wide if widths[at] < widths[widest]), default=0)
            widths[widest] = max(floors[widest], min(next_width, widths[widest] - 1), widths[widest] - excess)
        return True

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """For a screen that is redrawn."""
        from rich.text import Text as RichText

        for line in self.lines(options.max_width, colours=True):
            yield RichText.from_ansi(line)


Shown: TypeAlias = str | Text | Table
"""What commands print."""


def new_table(
    *columns: str,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    dropped: Sequence[str] = (),
    in_one_line: bool = False,
) -> Table:
    """`right`: columns of numbers, aligned right. These, those in `whole` and the first are never cut or
    wrapped. `dropped`: columns that go where there is no room, the first of them first."""
    table = Table(dropped=dropped, in_one_line=in_one_line)
    for at, column in enumerate(columns):
        table.add_column(column.upper(), right=column in right, whole=column in whole or at == 0)
    return table


def facts(named: dict[str, str]) -> Table:
    """Names on the left, what there is to say on the right; without what is empty."""
    table = Table(has_header=False)
    table.add_column("", whole=True)
    table.add_column("")
    for name, value in named.items():
        if value:
            table.add_row(Text(name, QUIET), value)
    return table


def lines_of(part: Shown, width: int | None, *, colours: bool) -> list[str]:
    if isinstance(part, Table):
        return part.lines(width, colours=colours)
    text = as_text(part)
    lines = text.lines() if width is None else text.wrapped(width)
    return [line.shown(colours=colours) for line in lines]
