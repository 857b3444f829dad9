"""Lines of columns that a header names, parted by one character."""

import re
from collections.abc import Mapping

from rota.intake.errors import InputError
from rota.intake.traces._text import Line

WHOLE = re.compile(r"\d{1,12}", re.ASCII)
"""Short enough that it can be counted in thousandths, or as minutes in milliseconds."""


class Header:
    def __init__(self, line: Line, separator: str) -> None:
        self.line = line
        self.separator = separator
        self.columns = line.text.split(separator)
        self.index: Mapping[str, int] = {name: number for number, name in enumerate(self.columns)}
        for number, name in enumerate(self.columns):
            if name and self.index[name] != number:
                column = 1 + sum(len(one) + 1 for one in self.columns[:number])
                raise line.error(column, name, "this column occurs twice", "remove one")

    def __contains__(self, column: str) -> bool:
        return column in self.index

    def missing(self, column: str, problem: str, remedy: str) -> InputError:
        return self.line.error(len(self.line.text) + 1, column, problem, remedy)


class Row:
    def __init__(self, header: Header, line: Line) -> None:
        self.line = line
        self._index = header.index
        self._values = line.text.split(header.separator)
        if len(self._values) < len(header.columns):
            raise line.error(
                len(line.text) + 1,
                header.columns[len(self._values)],
                f"is missing: the line has {len(self._values)} of {len(header.columns)} columns",
                "if it is the last line, the file was cut off",
            )
        if len(self._values) > len(header.columns):
            raise line.error(
                1,
                "",
                f"the line has {len(self._values)} columns instead of {len(header.columns)}",
                f"leave out columns whose values may contain {header.separator}",
            )

    def __getitem__(self, column: str) -> str:
        """Empty where there is no such column."""
        index = self._index.get(column)
        return "" if index is None else self._values[index].strip()

    def whole(self, column: str) -> int:
        if not WHOLE.fullmatch(self[column]):
            raise self.error(column, f'"{self[column]}" is not a whole number, 0 or more', "correct it")
        return int(self[column])

    def error(self, column: str, problem: str, remedy: str = "") -> InputError:
        before = self._values[: self._index.get(column, 0)]
        return self.line.error(1 + sum(len(value) + 1 for value in before), column, problem, remedy)
