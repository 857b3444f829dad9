"""Running tasks as columns, in the order of job and rank."""

import random
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement
from rota.snapshot import snapshot_of
from rota.snapshot.running import RunningColumns, RunningIndex, RunningTask, build_running
from tests.builders import Cluster
from tests.kit.sampling import sampled
from tests.words import NOW_MS, tasks


def test_tasks_come_by_job_and_rank_whatever_order_the_records_have() -> None:
    cluster = (
        Cluster()
        .nodes("m n", cpu=9)
        .running("b", on=["n", "m"], started=-5)
        .running("a", on=["n"], started=-9)
    )
    running = snapshot_of(cluster.records).running
    assert [(one.job.id, one.placement.rank) for one in running.tasks] == [("a", 0), ("b", 0), ("b", 1)]
    assert [job.id for job in running.jobs] == ["a", "b"]
    assert running.job.tolist() == [0, 1, 1]
    assert running.node.tolist() == [1, 1, 0]
    assert running.started_ms.tolist() == [NOW_MS - 9000, NOW_MS - 5000, NOW_MS - 5000]


def test_tasks_of_a_kind_are_those_of_one_group_of_equal_jobs() -> None:
    mixed = JobTemplate((tasks(1, cpu=1), tasks(2, cpu=2)))
    other = JobTemplate((tasks(1, cpu=1), tasks(2, cpu=2)), priority=9)
    running = build_running(
        [
            RunningTask(Job(JobId(name), template), Placement(rank, NodeName("n")))
            for name, template in [("a", mixed), ("b", mixed), ("c", other)]
            for rank in range(3)
        ],
        {NodeName("n"): 0},
    )
    assert running.spec.tolist() == [0, 1, 1, 0, 1, 1, 2, 3, 3]
    assert running.kinds == ((mixed, 0), (mixed, 1), (other, 0), (other, 1))


def test_a_task_on_a_node_that_is_not_there_is_left_out() -> None:
    cluster = Cluster().node("n").running("a", on=["gone", "n"])
    running = snapshot_of(cluster.records).running
    assert [one.placement.rank for one in running.tasks] == [1]
    assert len(running) == 1


def test_done_tasks_count_towards_the_gang_and_one_must_always_run_on() -> None:
    def least(min_available: int, done: tuple[int, ...]) -> int:
        record = JobRecord(
            Job(JobId("j"), JobTemplate((tasks(4, cpu=1),), min_available)),
            (Placement(3, NodeName("n")),),
            done,
        )
        return int(snapshot_of(Cluster().node("n", cpu=4).record(record).records).running.min_running[0])

    assert least(3, ()) == 3
    assert least(3, (0,)) == 2
    assert least(3, (0, 1, 2)) == 1


def contents(columns: RunningColumns) -> dict[str, Any]:
    values = {field.name: getattr(columns, field.name) for field in fields(columns)}
    return {
        name: (value.dtype, value.tolist()) if isinstance(value, np.ndarray) else list(value)
        for name, value in values.items()
    }


@pytest.mark.covers("decide-1")
@pytest.mark.parametrize("seed", sampled(range(5), quick=1))
def test_changes_one_by_one_come_to_the_same_as_a_fresh_start(seed: int) -> None:
    """With many more kinds over time than run at once, so that old ones are forgotten."""
    chance = random.Random(seed)
    position = {NodeName("n"): 0, NodeName("m"): 1}
    index, running = RunningIndex(position), dict[JobId, list[RunningTask]]()
    for _ in range(200):
        changed = dict[JobId, list[RunningTask]]()
        for name in chance.sample("abcdefghij", chance.randrange(4)):
            template = JobTemplate((tasks(2, cpu=1), tasks(2, cpu=2)), 2, priority=chance.randrange(300))
            ranks = sorted(chance.sample(range(4), chance.randrange(5)))
            changed[JobId(name)] = [
                RunningTask(
                    Job(JobId(name), template),
                    Placement(rank, chance.choice([*position]), chance.randrange(99)),
                )
                for rank in ranks
            ]
        index.change(changed)
        running |= changed
        everything = [task for name in sorted(running) for task in running[name]]
        assert contents(index.columns()) == contents(build_running(everything, position))


def test_columns_stay_as_they_were_when_more_changes() -> None:
    index = RunningIndex({NodeName("n"): 0})
    job = Job(JobId("j"), JobTemplate((tasks(1, cpu=1),)))
    index.change({job.id: [RunningTask(job, Placement(0, NodeName("n"), 5))]})
    before = index.columns()
    index.change({job.id: []})
    assert (len(before), before.started_ms.tolist(), before.jobs) == (1, [5], (job,))
    assert len(index.columns()) == 0
