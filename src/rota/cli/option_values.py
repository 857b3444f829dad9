"""Reads values of options: times and sizes. Errors name the option."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import typer

from rota.cli.moments import Way, moment_ms
from rota.model.quantities import QuantityError
from rota.views.times import Clock

R = TypeVar("R")


def read_as(option: str, parse: Callable[[object], R], text: str) -> R:
    try:
        return parse(text)
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def moment_of(option: str, text: str | None, now_ms: int) -> datetime | None:
    """A time as in 2026-05-01T12:00:00Z, 14:00 or yesterday, or so long ago, as in 10m."""
    return None if text is None else _moment(option, text, now_ms, Way.PAST)


def future_of(option: str, text: str, now_ms: int) -> datetime:
    """A time as in 2026-05-01T12:00:00Z, 14:00, tomorrow or now, or so long from now, as in 2h."""
    return _moment(option, text, now_ms, Way.FUTURE)


def _moment(option: str, text: str, now_ms: int, way: Way) -> datetime:
    at_ms = read_as(option, lambda _: moment_ms(text, Clock(now_ms), way), text)
    return datetime.fromtimestamp(at_ms / 1000, UTC)
