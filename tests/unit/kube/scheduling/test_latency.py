from __future__ import annotations

import pytest

from rota.kube.scheduling.latency import Latency
from rota.kube_objects.times import as_ms
from rota.loop.telemetry.metrics import Metrics
from rota.model.ids import TaskName
from tests.unit.kube.pods import pod

NAME = "rota_job_scheduling_sli_duration_seconds"
P, Q = TaskName("default/p"), TaskName("default/q")


def measured(metrics: Metrics) -> tuple[float | None, float | None]:
    """How many, and seconds in all."""
    value = metrics.registry.get_sample_value
    return value(f"{NAME}_count"), value(f"{NAME}_sum")


@pytest.mark.covers("first-5", "ops-1")
def test_from_when_a_pod_could_be_scheduled_until_it_is_bound() -> None:
    made = pod("p")
    now_ms = created_ms = as_ms(made.metadata.creation_timestamp)
    metrics = Metrics()
    latency = Latency(metrics, lambda: now_ms)
    now_ms = created_ms + 2_000
    latency.bound(P, made)
    assert measured(metrics) == (1, 2)
    latency.held([Q], lambda _: True)
    now_ms = created_ms + 10_000
    latency.held([Q], lambda _: True)
    now_ms = created_ms + 13_000
    latency.held([], lambda _: True)
    latency.bound(Q, pod("q"))
    assert measured(metrics) == (2, 5)


def test_a_clock_that_is_behind_makes_no_negative_times() -> None:
    metrics = Metrics()
    Latency(metrics, lambda: 0).bound(P, pod("p"))
    assert measured(metrics) == (1, 0)


def test_who_is_gone_is_forgotten() -> None:
    metrics = Metrics()
    now_ms = as_ms(pod("p").metadata.creation_timestamp) + 5_000
    latency = Latency(metrics, lambda: now_ms)
    latency.held([P], lambda _: True)
    latency.held([], lambda _: False)
    latency.bound(P, pod("p"))
    assert measured(metrics) == (1, 5)
