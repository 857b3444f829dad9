"""Kubernetes' timestamps as milliseconds since the epoch."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def as_ms(moment: datetime | None) -> int:
    """0 for no time, and for the zero time of Go, which is in the year 1."""
    return max(0, (moment - _EPOCH) // _MILLISECOND) if moment else 0
