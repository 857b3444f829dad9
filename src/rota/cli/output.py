"""Where data and talk go: data to standard output, in the form asked for; all else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO, TypeAlias

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import RenderableType


Document: TypeAlias = "Struct | Sequence[Struct] | Mapping[str, object]"


class Form(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_table(self) -> bool:
        return self in (Form.TABLE, Form.WIDE)


class ListForm(StrEnum):
    """Of commands that list things: the names alone are what shells want."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"

    @property
    def is_wide(self) -> bool:
        return self is ListForm.WIDE


class ReaderLeft(Exception):
    """Whoever read standard output wants no more, as `head` does. No OSError, which typer would end
    the process for with the exit code of bad input."""


def talk(message: str) -> None:
    """Tells the person at the terminal something that is no data."""
    print(f"rota: {message}", file=sys.stderr)


def show(parts: Iterable[RenderableType]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as rendered:
        for part in parts:
            console.print(part)
    write(rendered.get())


def write_document(document: Document, form: Form) -> None:
    write(_json(document) if form is Form.JSON else _yaml(document))


def write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderLeft from None


def write_bytes(data: bytes, stream: TextIO | None = None) -> None:
    """What a job wrote, untouched; to standard output, unless told otherwise."""
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
