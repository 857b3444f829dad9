"""What the comments in examples/mixed promise, and the demo that shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.calling import MIXED, MIXED_FILES, rota

ROOT = MIXED.parents[1]


@pytest.fixture(scope="module")
def plan() -> Any:
    return rota("plan", *MIXED_FILES, "--policy", str(MIXED / "policy.yaml"), "-o", "json").data


def nodes_of(plan: Any, job: str) -> list[str]:
    return [one["node"] for one in plan["bindings"] if one["job"] == job]


def test_what_waits(plan: Any) -> None:
    assert {one["job"]: one["verdict"] for one in plan["waiting"]} == {
        "archive": "never",
        "caption": "not-now",
        "sweep-weekend": "not-now",
        "website": "not-now",
    }


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
    assert sorted(devices.values()) == [1, 2]


def test_it_works_without_a_policy() -> None:
    assert rota("plan", *MIXED_FILES).code == 2


@pytest.mark.slow
@pytest.mark.slow
def test_the_demo() -> None:
    process = subprocess.run(
        [ROOT / "scripts" / "demo.sh"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (process.returncode, process.stderr) == (0, "")
    for wanted in ("$ rota plan", "$ rota why search", "$ rota why caption", "How to go on"):
        assert wanted in process.stdout
    assert "\x1b" not in process.stdout
