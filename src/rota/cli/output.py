"""Where data and talk go: data to standard output, in the form asked for; all else to standard error."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console


class Form(str, Enum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_table(self) -> bool:
        return self in (Form.TABLE, Form.WIDE)


def talk(message: str) -> None:
    """Tells the person at the terminal something that is no data."""
    print(f"rota: {message}", file=sys.stderr)


def table_console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def write_document(document: Struct | list[Struct], form: Form) -> None:
    sys.stdout.write(_json(document) if form is Form.JSON else _yaml(document))


def _json(document: Struct | list[Struct]) -> str:
    from msgspec import json

    return json.format(json.encode(document), indent=2).decode() + "\n"


def _yaml(document: Struct | list[Struct]) -> str:
    from msgspec import to_builtins

    from rota.cli.yaml_text import dump

    return dump(to_builtins(document))
