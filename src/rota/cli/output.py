"""Where output goes: data to standard output, in the chosen format; messages to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO, TypeAlias

if TYPE_CHECKING:
    from msgspec import Struct

    from rota.cli.tables import Shown


Document: TypeAlias = "Struct | Sequence[Struct] | Mapping[str, object]"


class OutputFormat(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_table(self) -> bool:
        return self in (OutputFormat.TABLE, OutputFormat.WIDE)


class ListFormat(StrEnum):
    """Formats of lists. Names alone are for shell scripts."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"

    @property
    def is_wide(self) -> bool:
        return self is ListFormat.WIDE


class ReaderLeft(Exception):
    """The reader of standard output has closed it, as `head` does. This is no OSError: Typer would exit with
    the code of bad input on one."""


def talk(message: str) -> None:
    """Prints a message for the user, which is no data, to standard error."""
    print(f"rota: {message}", file=sys.stderr)


def talk_of_change(subject: str, done: str, planned: str, *, dry_run: bool) -> None:
    """`n1 is cordoned`, or `dry run: n1 would be cordoned`."""
    talk(f"dry run: {subject} would {planned}" if dry_run else f"{subject} {done}")


def show(parts: Iterable[Shown]) -> None:
    from rota.cli.tables import lines_of
    from rota.cli.text import has_colours, terminal_width

    width, colours = terminal_width(), has_colours()
    write("".join(f"{line}\n" for part in parts for line in lines_of(part, width, colours=colours)))


def write_document(document: Document, output: OutputFormat) -> None:
    write(_json(document) if output is OutputFormat.JSON else _yaml(document))


def write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderLeft from None


def write_bytes(data: bytes, stream: TextIO | None = None) -> None:
    """Output of a job, byte by byte; to standard output by default."""
    binary = (stream or sys.stdout).buffer
    try:
        binary.write(data)
        binary.flush()
    except BrokenPipeError:
        raise ReaderLeft from None


def _json(document: Document) -> str:
    from msgspec import json

    return json.format(json.encode(document), indent=2).decode() + "\n"


def _yaml(document: Document) -> str:
    from msgspec import to_builtins

    from rota.cli.yaml_text import dump

    return dump(to_builtins(document))
