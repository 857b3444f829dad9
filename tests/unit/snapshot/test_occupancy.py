"""What running tasks leave of the nodes, as they start and end."""

from rota.model.job import JobRecord
from rota.snapshot import rows, snapshot_of
from rota.snapshot.occupancy import Occupancy
from tests.builders import Cluster

NODES = Cluster().nodes("m n", cpu=4, gpus=2)


def occupied(cluster: Cluster = NODES) -> Occupancy:
    return Occupancy(snapshot_of(cluster.records).nodes)


def record(cluster: Cluster) -> JobRecord:
    [found] = cluster.records.jobs
    return found


def test_what_starts_is_taken_and_what_ends_is_given_back() -> None:
    occupancy = occupied()
    before = occupancy.free.copy(), occupancy.gpu_free.copy()
    job = record(Cluster().running("r", on=["m", "n"], cpu=1, gpu=0.5, devices=[[1], [0]]))
    assert occupancy.shift(job, 1)
    assert occupancy.free[rows.CPU].tolist() == [3000, 3000]
    assert occupancy.gpu_free.tolist() == [[1000, 500], [500, 1000]]
    assert occupancy.free[rows.GPU_IDLE].tolist() == [1, 1]
    assert occupancy.shift(job, -1)
    assert (occupancy.free == before[0]).all()
    assert (occupancy.gpu_free == before[1]).all()


def test_a_task_on_a_node_that_is_not_there_takes_nothing() -> None:
    occupancy = occupied()
    assert occupancy.shift(record(Cluster().running("r", on=["gone"], cpu=1, gpu=1)), 1)
    assert (occupancy.free == occupancy.nodes.capacity).all()


def test_one_whose_devices_nobody_named_changes_nothing_until_they_are_settled() -> None:
    occupancy = occupied()
    job = record(Cluster().running("r", on=["m"], cpu=1, gpu=1))
    assert not occupancy.shift(job, 1)
    assert (occupancy.free == occupancy.nodes.capacity).all()
    settled = occupancy.settled(job)
    assert settled.placements[0].gpu_devices == (0,)
    assert occupancy.shift(settled, 1)


def test_devices_are_settled_beside_those_that_are_taken() -> None:
    occupancy = occupied()
    occupancy.shift(record(Cluster().running("a", on=["m"], gpu=0.4, devices=[[0]])), 1)
    job = record(Cluster().running("r", on=["m", "m", "m"], gpu=0.6))
    assert [one.gpu_devices for one in occupancy.settled(job).placements] == [(0,), (1,), (1,)]


def test_devices_are_settled_also_where_another_task_is_on_a_node_that_is_gone() -> None:
    occupancy = occupied()
    job = record(Cluster().running("r", on=["gone", "m"], gpu=1, devices=[[1], [5]]))
    assert [one.gpu_devices for one in occupancy.settled(job).placements] == [(1,), (0,)]
    assert (occupancy.gpu_free == occupancy.nodes.gpu_capacity).all()


def test_a_resource_without_a_row_is_not_known() -> None:
    occupancy = occupied(NODES.job("j", extended={"fpga": 1}))
    plain, known, unknown = (
        Cluster().job("j", extended=extended).records.jobs[0].job.template
        for extended in ({}, {"fpga": 1}, {"asic": 1})
    )
    assert occupancy.knows(plain)
    assert occupancy.knows(known)
    assert not occupancy.knows(unknown)
