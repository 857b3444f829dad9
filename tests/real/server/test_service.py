"""What the server tells of itself."""

from __future__ import annotations

import re

import pytest

from rota.lifecycle.state import Phase
from tests.real.server.rota_server import RotaServer, shell


@pytest.mark.covers("ops-1")
def test_metrics_count_what_happened(server: RotaServer) -> None:
    before = _values(server)
    assert server.run(shell("true")).phase is Phase.SUCCEEDED
    after = _values(server)
    scheduled = 'rota_schedule_attempts_total{result="scheduled"}'
    assert after[scheduled] == before.get(scheduled, 0) + 1
    for name in (
        "rota_scheduling_attempt_duration_seconds_count",
        "rota_job_scheduling_sli_duration_seconds_count",
        "rota_pending_jobs",
        "rota_preemption_attempts_total",
        "rota_queue_wait_seconds_count",
        "rota_worker_utilisation",
    ):
        assert any(sample.startswith(name) for sample in after), f"{name} in {sorted(after)}"
    assert server.rest("GET", "/metrics", Authorization="")[0] == 401


def _values(server: RotaServer) -> dict[str, float]:
    status, text, _ = server.rest("GET", "/metrics")
    assert status == 200
    samples = re.findall(r"^([^#\s]\S*(?: \S+=\S+)*) (\S+)$", text.decode(), re.MULTILINE)
    return {name: float(value) for name, value in samples}


def test_it_says_whether_it_is_well_and_what_there_is(server: RotaServer) -> None:
    job = server.run(shell("true"))
    assert server.rest("GET", "/healthz", Authorization="")[1] == {"status": "ok"}
    assert server.rest("GET", "/readyz", Authorization="")[1] == {"status": "ready"}
    stats = server.client.stats()
    assert (stats.nodes, stats.pending, stats.running) == (1, 0, 0)
    assert stats.finished >= 1
    assert stats.scheduling.cycles >= 1
    efficiency = server.client.efficiency(job.id)
    assert efficiency.wall_s > 0
    assert efficiency.time_limit_s == 60


@pytest.mark.covers("ops-3")
def test_what_is_too_large_or_of_no_known_form_is_refused(server: RotaServer) -> None:
    status, problem, _ = server.rest("POST", "/v1/jobs", {"jobs": ["x" * 2**20]})
    assert (status, problem["type"]) == (413, "/problems/too-large")
    status, problem, _ = server.rest("POST", "/v1/jobs", {"jobs": []}, Content_Type="text/plain")
    assert (status, problem["type"]) == (415, "/problems/unsupported-media-type")
    status, problem, _ = server.rest("GET", "/v1/nothing")
    assert (status, problem["type"]) == (404, "/problems/not-found")
    status, problem, _ = server.rest("DELETE", "/v1/jobs")
    assert (status, problem["type"]) == (405, "/problems/method-not-allowed")
    status, problem, _ = server.rest("GET", "/v1/jobs?colour=red")
    assert (status, problem["field"]) == (422, "colour")
