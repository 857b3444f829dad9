from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from rota.loop.telemetry.bulk_histogram import BulkHistogram, doubling


def test_buckets_double() -> None:
    assert doubling(0.001, 4) == (0.001, 0.002, 0.004, 0.008)


def test_many_values_are_counted_at_once() -> None:
    registry = CollectorRegistry()
    histogram = BulkHistogram("h", "Help.", ["kind"], buckets=(1, 2), registry=registry)
    histogram.observe(("a",), 1.0, 3)
    histogram.observe(("a",), 1.5)
    histogram.observe(("a",), 5.0, 2)
    value = registry.get_sample_value
    assert [value("h_bucket", {"kind": "a", "le": le}) for le in ("1.0", "2.0", "+Inf")] == [3, 4, 6]
    assert value("h_count", {"kind": "a"}) == 6
    assert value("h_sum", {"kind": "a"}) == 14.5
    assert b'h_bucket{kind="a",le="2.0"} 4.0' in generate_latest(registry)


def test_without_labels_it_is_there_from_the_beginning() -> None:
    registry = CollectorRegistry()
    BulkHistogram("h", "Help.", buckets=(1,), registry=registry)
    assert registry.get_sample_value("h_count") == 0
