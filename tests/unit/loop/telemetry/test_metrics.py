from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rota.loop.telemetry.metrics import CycleResult, Metrics

DASHBOARD = Path(__file__).parents[4] / "deploy" / "grafana" / "rota.json"


def observed() -> Metrics:
    """Each of them once."""
    metrics = Metrics()
    metrics.observe_cycle(0.004, CycleResult.SCHEDULED)
    metrics.count_attempts(CycleResult.UNSCHEDULABLE, 3)
    metrics.set_pending({"default": 7})
    metrics.observe_scheduled(0.2)
    metrics.observe_preemption(victims=2)
    metrics.observe_queue_wait("default", 1.5)
    metrics.set_utilisation({"n1": {"cpu": 0.25}})
    metrics.observe_request("/v1/jobs", "GET", 200, 0.001)
    metrics.count_event("job.Started", 2)
    metrics.observe_commit(0.002)
    metrics.observe_estimate(late_seconds=-30, within_bound=True)
    metrics.set_breaker("database", is_open=True)
    metrics.count_plugin_fault("licences", "filter")
    return metrics


def exposed(metrics: Metrics) -> dict[str, float]:
    lines = [line for line in metrics.exposition().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.mark.covers("ops-1")
@pytest.mark.parametrize(
    "sample, value",
    [
        ('rota_breaker_open{connection="database"}', 1),
        ('rota_plugin_faults_total{call="filter",plugin="licences"}', 1),
        ('rota_schedule_attempts_total{result="unschedulable"}', 3),
        ('rota_scheduling_attempt_duration_seconds_count{result="scheduled"}', 1),
        ('rota_pending_jobs{queue="default"}', 7),
        ("rota_job_scheduling_sli_duration_seconds_sum", 0.2),
        ("rota_preemption_attempts_total", 1),
        ("rota_preemption_victims_sum", 2),
        ('rota_queue_wait_seconds_sum{queue="default"}', 1.5),
        ('rota_worker_utilisation{node="n1",resource="cpu"}', 0.25),
        ('rota_http_requests_total{method="GET",route="/v1/jobs",status="200"}', 1),
        ('rota_events_total{kind="job.Started"}', 2),
        ("rota_store_commit_seconds_sum", 0.002),
        ('rota_estimate_error_seconds_sum{direction="early"}', 30),
        ('rota_estimate_bounds_total{kept="yes"}', 1),
    ],
)
def test_what_is_told_is_shown(sample: str, value: float) -> None:
    assert exposed(observed())[sample] == value


def test_queues_and_nodes_that_are_gone_are_forgotten() -> None:
    metrics = observed()
    metrics.set_pending({"other": 1})
    metrics.set_utilisation({})
    names = exposed(metrics)
    assert 'rota_pending_jobs{queue="other"}' in names
    assert not [name for name in names if "default" in name and "pending" in name]
    assert not [name for name in names if "n1" in name]


@pytest.mark.covers("ops-1")
def test_the_dashboard_names_metrics_that_exist_and_all_of_them() -> None:
    asked = set(re.findall(r"\brota_\w+", " ".join(_expressions())))
    shown = {name.partition("{")[0] for name in exposed(observed())}
    assert asked
    assert asked <= shown
    families = {family.name for family in observed().registry.collect()}
    assert all(any(name.startswith(family) for name in asked) for family in families)


def _expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]
