"""What the comments in examples/ promise, and the demo that shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.calling import MIXED, MIXED_FILES, rota, write

ROOT = MIXED.parents[1]
DAY = ROOT / "examples" / "day"


@pytest.fixture(scope="module")
def plan() -> Any:
    return rota("plan", *MIXED_FILES, "--policy", str(MIXED / "policy.yaml"), "-o", "json").data


def nodes_of(plan: Any, job: str) -> list[str]:
    return [one["node"] for one in plan["bindings"] if one["job"] == job]


def test_the_example_leaves_these_jobs_waiting(plan: Any) -> None:
    assert {one["job"]: one["verdict"] for one in plan["waiting"]} == {
        "archive": "never",
        "caption": "not-now",
        "sweep-weekend": "not-now",
        "website": "not-now",
        "workshop": "not-now",
    }


@pytest.mark.covers("time-1", "time-2")
def test_when_what_waits_starts(plan: Any) -> None:
    assert [(one["job"], one["start"], one["nodes"], one["promised"]) for one in plan["starts"]] == [
        ("caption", "2026-03-02T16:00:00Z", ["infer-0"], False),
        ("workshop", "2026-03-02T14:00:00Z", ["infer-0"], True),
    ]


@pytest.mark.covers("why-2")
def test_caption_could_start_before_the_workshop() -> None:
    policy = "--policy", str(MIXED / "policy.yaml")
    remedies = rota("why", "caption", *MIXED_FILES, *policy, "-o", "json").data["remedies"]
    starts = {one["message"]: one["start"] for one in remedies}
    assert starts["set a time limit of at most 2h (has 3h)"] == "2026-03-02T12:00:00Z"


@pytest.mark.covers("time-8")
def test_a_notebook_may_be_kept_until_the_workshop() -> None:
    policy = "--policy", str(MIXED / "policy.yaml")
    assert rota("extend", "notebook-ada", "+2h", *MIXED_FILES, *policy).code == 0
    refused = rota("extend", "notebook-ada", "+4h", *MIXED_FILES, *policy)
    assert refused.code == 2
    assert "promised start of workshop" in refused.out


@pytest.mark.covers("time-5")
def test_without_its_limit_finetune_would_run_into_the_maintenance(tmp_path: Path) -> None:
    jobs = (MIXED / "jobs.yaml").read_text().replace("    time_limit: 12h\n", "")
    [path] = write(tmp_path, jobs=jobs)
    files = str(MIXED / "cluster.yaml"), path, "--policy", str(MIXED / "policy.yaml")
    waits = {one["job"] for one in rota("plan", *files, "-o", "json").data["waiting"]}
    assert "finetune" in waits


def test_the_sweep_gives_way(plan: Any) -> None:
    assert {(one["job"], one["for"]) for one in plan["evictions"]} == {
        ("sweep-weekend", "finetune"),
        ("website", None),
    }
    assert sorted(nodes_of(plan, "finetune")) == ["train-0", "train-1"]


def test_all_of_render_starts_partly_in_the_cloud(plan: Any) -> None:
    assert len(nodes_of(plan, "render")) == 60
    assert any(node.startswith("spot-16#") for node in nodes_of(plan, "render"))


def test_the_ranks_of_airflow_are_in_one_zone(plan: Any) -> None:
    assert len({node[:5] for node in nodes_of(plan, "airflow")}) == 1


def test_no_two_of_search_share_a_host(plan: Any) -> None:
    assert Counter(nodes_of(plan, "search")).most_common(1)[0][1] == 1


def test_two_notebooks_share_a_device() -> None:
    wide = rota("plan", *MIXED_FILES, "--policy", str(MIXED / "policy.yaml"), "-o", "wide", columns=200).lines
    devices = Counter((line.split()[3], line.split()[5]) for line in wide if line.startswith("notebook-"))
    assert list(devices.values()) == [2]


def test_it_works_without_a_policy() -> None:
    assert rota("plan", *MIXED_FILES).code == 2


@pytest.mark.slow
@pytest.mark.covers("time-2", "time-3")
def test_a_day_under_three_policies() -> None:
    policies = [word for name in ("fifo", "easy", "learnt") for word in ("-p", str(DAY / f"{name}.yaml"))]
    files = "-w", str(DAY / "workload.yaml"), "-c", str(DAY / "cluster.yaml")
    fifo, easy, learnt = (
        one["metrics"] for one in rota("sim", "compare", *files, *policies, "-o", "json").data
    )
    assert fifo["mean_wait_ms"] > easy["mean_wait_ms"] > learnt["mean_wait_ms"]
    for metrics in (fifo, easy, learnt):
        assert metrics["started"] == metrics["jobs"]
        assert metrics["promises_kept"] == metrics["promises_given"] > 0


@pytest.mark.slow
def test_the_demo() -> None:
    process = subprocess.run(
        [ROOT / "scripts" / "demo.sh"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    assert all(line.startswith("rota: ") for line in process.stderr.splitlines())
    assert "it can never start here" in process.stderr
    for wanted in ("hello from a job", "$ rota why simulation", "promised for", "How to go on"):
        assert wanted in process.stdout
    assert process.stdout.count("succeeded") >= 7
    assert "\x1b" not in process.stdout
