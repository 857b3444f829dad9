"""Which jobs `rota ls` was asked for."""

from __future__ import annotations

from typing import NamedTuple


class Chosen(NamedTuple):
    """As given; None: all."""

    project: str | None
    user: str | None
    queue: str | None
    states: tuple[str, ...]
    name: str | None
    label: str | None
    array: str | None
    since: str | None
    until: str | None
    all: bool
    limit: int
    flat: bool
