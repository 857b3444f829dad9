"""Pauses that grow with every failure. Chance is given."""

from __future__ import annotations

from msgspec import Struct

_MOST_DOUBLINGS = 16


class Backoff(Struct, frozen=True):
    """The pause doubles each time; chance takes up to half of it away, so that those who were cut off
    together don't come back together."""

    first_s: float
    longest_s: float

    def pause_s(self, failures: int, chance: float) -> float:
        """After so many failures in a row, one at least. `chance` is from 0 to 1."""
        doubled_s = self.first_s * 2.0 ** min(max(0, failures - 1), _MOST_DOUBLINGS)
        return min(self.longest_s, doubled_s) * (1 - chance / 2)
