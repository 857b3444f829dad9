"""What is wrong with an input, where, and what to do: as data, and as one line of text."""

import re
from typing import NamedTuple

FieldPath = tuple[str | int, ...]
"""The way from the top of a document to a field: keys of mappings, indexes of lists."""

_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Position(NamedTuple):
    """Both count from 1."""

    line: int
    column: int


class InputError(Exception):
    """One thing wrong with one file. `also` holds what else was found wrong in the same go."""

    def __init__(
        self,
        file: str,
        problem: str,
        remedy: str = "",
        *,
        position: Position | None = None,
        path: FieldPath = (),
        also: tuple["InputError", ...] = (),
    ) -> None:
        super().__init__(file, problem, remedy)
        self.file = file
        self.problem = problem
        self.remedy = remedy
        self.position = position
        self.path = path
        self.also = also

    @property
    def line(self) -> int | None:
        return self.position.line if self.position else None

    @property
    def column(self) -> int | None:
        return self.position.column if self.position else None

    @property
    def field(self) -> str:
        return format_path(self.path)

    @property
    def all(self) -> tuple["InputError", ...]:
        return (self, *self.also)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.position else self.file
        what = f"{self.problem}; {self.remedy}" if self.remedy else self.problem
        return _printable(": ".join(part for part in (where, self.field, what) if part))


def format_path(path: FieldPath) -> str:
    """As in `nodes[3].labels["example.com/rack"]`."""
    return "".join(map(_format_step, path)).removeprefix(".")


def _printable(text: str) -> str:
    """Keeps it on one line, and a hostile file from steering the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _format_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _BARE_KEY.fullmatch(step) else f'["{step}"]'
