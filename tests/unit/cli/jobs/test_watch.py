"""`rota watch`: which jobs, and what is shown of them."""

from __future__ import annotations

import pytest
from rich.console import Console

from rota.cli.jobs.watch import Watched, watch_parts
from rota.lifecycle.state import Phase
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import CLOCK, a_job, ago, detail, over, running
from tests.unit.cli.fake_server import FakeServer


def watched(server: FakeServer, *jobs: str) -> Watched:
    return Watched(server, jobs, None, None, None)


def test_what_runs_comes_first(server: FakeServer) -> None:
    server.has(a_job("20"), running("19", started=ago(5)), running("18", started=ago(50)))
    assert [job.id for job in watched(server).refreshed()] == ["18", "19", "20"]


def test_only_those_that_were_named(server: FakeServer) -> None:
    server.has(a_job("20"), a_job("19.1"), a_job("19.2"), a_job("18"))
    assert [job.id for job in watched(server, "19", "18").refreshed()] == ["18", "19"]
    assert [job.id for job in watched(server, "19.2").refreshed()] == ["19.2"]


def test_how_a_job_ended_is_seen_for_a_while(server: FakeServer) -> None:
    server.has(running("17"))
    jobs = watched(server)
    jobs.refreshed()
    server.details["17"] = [detail(over(Phase.FAILED, "17"))]
    assert [job.phase for job in jobs.refreshed()] == [Phase.FAILED]
    assert jobs.all_over
    assert [job.phase for job in jobs.refreshed()] == [Phase.FAILED]


def test_a_job_that_is_over_leaves_the_screen_after_a_while(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [0.0]
    server.has(running("17"))
    jobs = watched(server)
    jobs.refreshed()
    server.details["17"] = [detail(over(Phase.FAILED, "17"))]
    monkeypatch.setattr("rota.cli.jobs.watch.time.monotonic", lambda: now_s[0])
    jobs.refreshed()
    now_s[0] = 31.0
    assert jobs.refreshed() == []


def test_progress_and_what_is_left_out() -> None:
    jobs = [running(str(number), time_limit_s=240.0) for number in range(30)]
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        for part in watch_parts(jobs, CLOCK, height=13):
            console.print(part)
    lines = captured.get().splitlines()
    assert len(lines) == 12
    assert "━" * 8 in lines[1]
    assert "2 min of 4m" in lines[1]
    assert lines[-1] == "30 running, 0 waiting; 20 more lines below; q quits"
    assert max(map(len, lines)) <= 80


def test_once_where_there_is_no_terminal(server: FakeServer) -> None:
    server.has(running("17"))
    assert [line.split()[0] for line in rota("watch").lines] == ["JOB", "17"]
