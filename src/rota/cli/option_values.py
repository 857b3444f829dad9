"""Reads values of options: times and sizes. Errors name the option."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import typer

from rota.model.quantities import QuantityError, parse_duration_ms, parse_timestamp_ms

R = TypeVar("R")


def read_as(option: str, parse: Callable[[object], R], text: str) -> R:
    try:
        return parse(text)
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def moment_of(option: str, text: str | None, now_ms: int) -> datetime | None:
    """A time as in 2026-05-01T12:00:00Z, or so long ago, as in 10m."""
    if text is None:
        return None
    return datetime.fromtimestamp(_ago_ms(option, text, now_ms) / 1000, UTC)


def future_of(option: str, text: str, now_ms: int) -> datetime:
    """A time as in 2026-05-01T12:00:00Z, `now`, or so long from now, as in 2h."""
    if text == "now":
        return datetime.fromtimestamp(now_ms / 1000, UTC)
    try:
        at_ms = now_ms + parse_duration_ms(text)
    except QuantityError:
        at_ms = read_as(option, parse_timestamp_ms, text)
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _ago_ms(option: str, text: str, now_ms: int) -> int:
    try:
        return max(0, now_ms - parse_duration_ms(text))
    except QuantityError:
        return read_as(option, parse_timestamp_ms, text)
