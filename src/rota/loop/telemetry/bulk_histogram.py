"""A histogram for Prometheus that takes many equal values at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString


def doubling(first: float, count: int) -> tuple[float, ...]:
    """Bounds of so many buckets, each twice the one before."""
    return tuple(first * 2**number for number in range(count))


class BulkHistogram:
    """One cycle may refuse thousands of pods: they are counted by one call."""

    def __init__(
        self,
        name: str,
        help_text: str,
        labels: Sequence[str] = (),
        *,
        buckets: Iterable[float],
        registry: CollectorRegistry,
    ) -> None:
        self._name = name
        self._help = help_text
        self._labels = tuple(labels)
        self._bounds = (*buckets, float("inf"))
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}
        if not self._labels:
            self.observe((), 0.0, 0)
        registry.register(self)

    def observe(self, labels: tuple[str, ...], value: float, count: int = 1) -> None:
        counts = self._counts.setdefault(labels, [0] * len(self._bounds))
        counts[bisect_left(self._bounds, value)] += count
        self._sums[labels] = self._sums.get(labels, 0.0) + value * count

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(self._name, self._help, labels=self._labels)
        for labels, counts in list(self._counts.items()):
            bounds = map(floatToGoString, self._bounds)
            buckets = list(zip(bounds, accumulate(counts), strict=True))
            family.add_metric(labels, buckets, sum_value=self._sums[labels])
        yield family
