"""Reads options of the form KEY=VALUE. Light, since declarations of options need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rota.cli.later import typer


def pairs_of(option: str, given: Sequence[str]) -> Mapping[str, str]:
    """`KEY=VALUE`, each."""
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise typer.BadParameter(f'"{text}" is not KEY=VALUE', param_hint=option)
        pairs[key] = value
    return pairs
