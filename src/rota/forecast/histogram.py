"""A histogram of positive whole numbers on a logarithmic scale, in integers only."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct, field

SLICES = 16
_MAX_TOTAL = 2048
"""When so many have come, all count half: what was long ago fades."""
_BITS = 3
"""Eight bins for each doubling."""


@lru_cache(1 << 14)
def log2_fixed(value: int, bits: int = 8) -> int:
    """The logarithm to base two in 2**bits-ths, straight between powers of two: off by at most a tenth
    of a doubling, never falling, and equal on every machine."""
    value = max(1, value)
    exponent = value.bit_length() - 1
    return (exponent << bits) + (((value - (1 << exponent)) << bits) >> exponent)


class Histogram(Struct):
    counts: dict[int, int] = field(default_factory=dict)
    sums: dict[int, int] = field(default_factory=dict)
    """Of the values in a bin: where all are equal, nothing is lost by binning."""
    total: int = 0
    slices: tuple[int, ...] = ()
    """As last worked out; empty: to be done."""

    def add(self, value: int) -> None:
        at = log2_fixed(value, _BITS)
        self.counts[at] = self.counts.get(at, 0) + 1
        self.sums[at] = self.sums.get(at, 0) + value
        self.total += 1
        self.slices = ()
        if self.total >= _MAX_TOTAL:
            self._fade()

    def sixteenths(self) -> tuple[int, ...]:
        """The mean of each sixteenth of the values, the smallest first; empty if there are none.
        Unlike the quantiles in the middle of each they keep the mean of the whole, however long
        its tail."""
        if not self.slices and self.total:
            self.slices = self._sliced()
        return self.slices

    def take_slices_of(self, other: Histogram) -> None:
        """If they are the same."""
        if self.total == other.total and self.counts == other.counts and self.sums == other.sums:
            self.slices = other.sixteenths()

    def _sliced(self) -> tuple[int, ...]:
        slices: list[int] = []
        # Each value counts for SLICES parts, so that each slice takes `total` of them.
        missing, summed = self.total, 0
        total = self.total
        for at, count in sorted(self.counts.items()):
            parts, bin_sum = SLICES * count, self.sums[at]
            if parts >= missing:
                slices.append((summed + missing * bin_sum // count) // total)
                whole, parts = divmod(parts - missing, total)
                # Slices that lie within the bin are all equal.
                slices += [total * bin_sum // count // total] * whole
                missing, summed = total, 0
            summed += parts * bin_sum // count
            missing -= parts
        return tuple(slices)

    def _fade(self) -> None:
        """Halves every count. What is odd goes on to the next bin: a long tail of single values thins
        out instead of being cut off."""
        counts: dict[int, int] = {}
        sums: dict[int, int] = {}
        odd = 0
        for at in sorted(self.counts):
            half, odd = divmod(self.counts[at] + odd, 2)
            if half:
                counts[at] = half
                sums[at] = self.sums[at] * half // self.counts[at]
        self.counts, self.sums, self.total = counts, sums, sum(counts.values())
