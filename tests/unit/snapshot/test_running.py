"""Running tasks as columns, in the order of job and rank."""

from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement
from rota.snapshot import snapshot_of
from rota.snapshot.running import RunningTask, build_running
from tests.builders import Cluster
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
