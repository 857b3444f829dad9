"""Moments as certificates have them, from milliseconds and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

DAY_MS = 86_400_000


def moment(at_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=at_ms)


def ms_of(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)
