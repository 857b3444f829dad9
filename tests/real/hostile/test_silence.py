"""However long a decision or a question takes: agents keep their leases, everybody is answered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from tests.real.agents.fleet import Fleet
from tests.real.hostile.slow_server import Slow
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-1")

LOST_AFTER_S = 15.0
"""Longer than a busy machine may keep an agent waiting that nobody else does."""
SLOW_S = 20.0
QUESTION_TIME = '[server.limits]\nquestion_time = "1s"\n'


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path / "slow")


@pytest.fixture
def fleet(tmp_path: Path, slow: Slow) -> Iterator[Fleet]:
    made = Fleet(tmp_path / "fleet", LOST_AFTER_S, environment=slow.environment)
    yield made
    made.remove()


@pytest.fixture
def server(tmp_path: Path, slow: Slow) -> Iterator[RotaServer]:
    settings = tmp_path / "rota.toml"
    settings.write_text(QUESTION_TIME)
    made = RotaServer(tmp_path / "server", "--config", str(settings), environment=slow.environment)
    made.start()
    yield made
    made.remove()


def answers(server: RotaServer) -> None:
    for path in ("/healthz", "/v1/jobs", "/v1/nodes", "/metrics"):
        status, _, _ = server.rest("GET", path)
        assert status == 200, path


def test_a_slow_decision_takes_no_agents_lease(fleet: Fleet, slow: Slow) -> None:
    fleet.agent("a")
    server = fleet.server
    job = server.submit_one(shell("sleep 45"))
    server.started(job)
    slow.begin("decision")
    other = server.submit_one(shell("true"))
    slow.until_begun("decision")
    # On a server that is silent for so long, the agent is lost and ends its task.
    until_s = time.monotonic() + SLOW_S
    while time.monotonic() < until_s:
        answers(server)
        time.sleep(0.2)
    assert server.client.job(other).job.phase is Phase.PENDING, "the decision is still under way"
    slow.end("decision")
    assert server.over(other).phase is Phase.SUCCEEDED
    detail = server.client.job(job)
    assert detail.job.phase is Phase.RUNNING
    assert len(detail.attempts) == 1


def test_what_changes_during_a_slow_decision_counts(server: RotaServer, slow: Slow) -> None:
    slow.begin("decision")
    job = server.submit_one(shell("true"))
    slow.until_begun("decision")
    server.cli("nodes", "cordon", server.node)
    cycles = server.client.stats().scheduling.cycles
    slow.end("decision")
    eventually(lambda: server.client.stats().scheduling.cycles > cycles + 1, "it to be decided again")
    detail = server.client.job(job)
    assert detail.job.phase is Phase.PENDING
    assert not detail.attempts


def test_the_server_stops_during_a_slow_decision(server: RotaServer, slow: Slow) -> None:
    slow.begin("decision")
    server.submit_one(shell("true"))
    slow.until_begun("decision")
    assert server.stop() == 0


def test_a_slow_question_holds_up_nobody_and_is_given_up(server: RotaServer, slow: Slow) -> None:
    slow.begin("question")
    status, problem, headers = server.rest("POST", "/v1/plan", {"jobs": [shell("true")]})
    assert status == 503, problem
    assert "given up" in problem["detail"]
    assert headers["retry-after"]
    answers(server)
    slow.end("question")
    status, _, _ = server.rest("POST", "/v1/plan", {"jobs": [shell("true")]})
    assert status == 200


def test_a_job_that_cannot_be_judged_in_time_is_taken_in(server: RotaServer, slow: Slow) -> None:
    slow.begin("admission")
    job = server.submit_one(shell("true"))
    slow.end("admission")
    assert server.over(job).phase is Phase.SUCCEEDED
    assert "admission.skipped" in server.log.read_text()
