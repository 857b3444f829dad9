"""What a simulation says of each job, how many it takes, and what it says while it works."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rota.cli.policies.sim import progress
from rota.cli.policies.sim.experiment import looks_ahead
from rota.model.policy import Backfill, Policy, QueuePolicy, SchedulerPolicy
from tests.unit.cli.calling import rota

DAY = Path(__file__).parents[4] / "examples" / "day"
FILES = ("-w", str(DAY / "workload.yaml"), "-c", str(DAY / "cluster.yaml"))


@pytest.mark.covers("first-4")
def test_a_line_for_each_job(tmp_path: Path) -> None:
    table, lines = tmp_path / "jobs.csv", tmp_path / "jobs.jsonl"
    for path in (table, lines):
        assert rota("sim", "run", *FILES, "--first", "20", "--jobs", str(path)).code == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    objects = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(rows) == len(objects) == 20
    assert [row["job"] for row in rows] == [one["job"] for one in objects]
    for one in objects:
        assert one["state"] == "completed"
        assert one["wait"] == pytest.approx(one["start"] - one["submit"])
        assert one["end"] >= one["start"]
        assert one["nodes"]


def test_which_policies_may_decide_otherwise_on_one_node() -> None:
    def policy(queue: QueuePolicy) -> Policy:
        return Policy(schedulers=(SchedulerPolicy(queues=(queue,)),))

    assert looks_ahead(policy(QueuePolicy(backfill=Backfill.EASY)))
    assert looks_ahead(policy(QueuePolicy()))
    assert not looks_ahead(policy(QueuePolicy(backfill=Backfill.NONE)))
    assert not looks_ahead(policy(QueuePolicy(strict=True)))


def test_off_a_terminal_there_is_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = 0.0
    tell = progress.in_lines("easy", 1000, lambda: now_s)
    for second in range(12):
        now_s = float(second)
        tell(100 * second)
    assert capsys.readouterr().err.count("easy: ") == 2
