"""How often somebody may do something: a bucket for each, which fills at a steady rate."""

from __future__ import annotations

from collections import OrderedDict
from math import ceil

_MINUTE_MS = 60_000


class PerMinute:
    """The clock comes from outside. A bucket that is full again is as good as none: the one that was used
    longest ago is forgotten first."""

    def __init__(self, most_buckets: int = 10_000) -> None:
        self._most_buckets = most_buckets
        self._buckets: OrderedDict[object, tuple[float, int]] = OrderedDict()
        """How many are left, and when that was so; the latest that was used is last."""

    def wait_ms(self, key: object, per_minute: int, now_ms: int) -> int:
        """How long to wait until the next; 0: it may be now."""
        left = self._left(key, per_minute, now_ms)
        return 0 if left >= 1 else ceil((1 - left) * _MINUTE_MS / per_minute)

    def take(self, key: object, per_minute: int, now_ms: int) -> None:
        self._buckets[key] = (self._left(key, per_minute, now_ms) - 1, now_ms)
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._most_buckets:
            self._buckets.popitem(last=False)

    def left(self, key: object, per_minute: int, now_ms: int) -> int:
        return max(0, int(self._left(key, per_minute, now_ms)))

    def _left(self, key: object, per_minute: int, now_ms: int) -> float:
        left, at_ms = self._buckets.get(key, (float(per_minute), now_ms))
        return min(float(per_minute), left + max(0, now_ms - at_ms) * per_minute / _MINUTE_MS)
