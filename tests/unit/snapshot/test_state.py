"""The cluster as it changes: after any changes the same as if it had been read anew."""

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord
from rota.model.policy import Defaults, PlatformDefaults
from rota.model.resources import Resources
from rota.snapshot import ClusterState, Snapshot, rows, snapshot_of
from tests.builders import Cluster
from tests.kit.sampling import sampled
from tests.unit.snapshot.changing import change, contents, node_named


@pytest.mark.covers("decide-1")
@pytest.mark.parametrize("offers", [False, True], ids=["nodes", "nodes and offers"])
@pytest.mark.parametrize("seed", sampled(range(12), quick=3))
def test_changes_one_by_one_come_to_the_same_as_reading_it_anew(seed: int, offers: bool) -> None:
    chance = random.Random(seed)
    records = node_named("n0", chance).records
    if offers:
        records = replace(records, offers=Cluster().offer("o", limit=3, cpu=4, price=1).records.offers)
    state = ClusterState()
    state.load(records)
    for _ in range(40):
        records = change(state, records, chance)
        if chance.random() < 0.5:
            assert contents(state.snapshot()) == contents(snapshot_of(records))
    assert contents(state.snapshot()) == contents(snapshot_of(records))


@pytest.mark.covers("decide-1")
@pytest.mark.parametrize("seed", sampled(range(8), quick=2))
def test_cordons_loads_and_labels_between_other_changes(seed: int) -> None:
    """Such a node has the room that it had, less what started there meanwhile."""
    chance = random.Random(seed)
    records, state = node_named("n0", chance).records, ClusterState()
    state.load(records)
    for _ in range(60):
        records = change(state, records, chance)
        if chance.random() < 0.5:
            at = chance.randrange(len(records.nodes))
            spec = replace(records.nodes[at].spec, labels=(("zone", chance.choice("ab")),))
            load_milli, cordoned = chance.randrange(1000), chance.random() < 0.5
            node = replace(records.nodes[at], spec=spec, load_milli=load_milli, cordoned=cordoned)
            state.set_node(node)
            records = replace(records, nodes=(*records.nodes[:at], node, *records.nodes[at + 1 :]))
        if chance.random() < 0.4:
            assert contents(state.snapshot()) == contents(snapshot_of(records))


def test_every_change_makes_a_new_generation() -> None:
    state = ClusterState()
    cluster = Cluster().node("n", cpu=4).job("j", cpu=1)
    seen = [state.snapshot().generation]
    steps: list[Callable[[], None]] = [
        lambda: state.set_node(cluster.records.nodes[0]),
        lambda: state.set_job(cluster.records.jobs[0]),
        lambda: state.set_job(cluster.records.jobs[0]),
        lambda: state.set_usage(()),
        lambda: state.remove_job(JobId("j")),
        lambda: state.remove_node(NodeName("n")),
    ]
    for step in steps:
        step()
        seen.append(state.snapshot().generation)
    assert seen == sorted(set(seen))


def test_a_snapshot_of_free_resources_stays_as_it_was() -> None:
    state = ClusterState()
    state.load(Cluster().node("n", cpu=4, gpus=1).records)
    before = state.snapshot()
    state.load(Cluster().running("r", on=["n"], cpu=3, gpu=1, devices=[[0]]).records)
    assert before.free[rows.CPU].tolist() == [4000]
    assert before.gpu_free.tolist() == [[1000]]
    assert state.snapshot().free[rows.CPU].tolist() == [1000]


class TestNodesThatVanish:
    CLUSTER = Cluster().nodes("n1 n2", cpu=4).running("r", on=["n1", "n2"], cpu=1).job("w", cpu=1)

    def test_take_nothing_along_that_runs_elsewhere(self) -> None:
        state = ClusterState()
        state.load(self.CLUSTER.records)
        state.snapshot()
        state.remove_node(NodeName("n1"))
        snapshot = state.snapshot()
        assert snapshot.nodes.names == ("n2",)
        assert [task.placement.rank for task in snapshot.running.tasks] == [1]
        assert snapshot.free[rows.CPU].tolist() == [3000]

    def test_what_ran_there_neither_waits_nor_runs_until_somebody_says_so(self) -> None:
        state = ClusterState()
        state.load(self.CLUSTER.records)
        state.remove_node(NodeName("n1"))
        assert state.snapshot().waiting.task_count == 1
        assert len(state.record(JobId("r")).placements) == 2

    def test_and_come_back_hold_what_ran_there(self) -> None:
        state = ClusterState()
        state.load(self.CLUSTER.records)
        state.remove_node(NodeName("n1"))
        state.snapshot()
        state.set_node(self.CLUSTER.records.nodes[0])
        assert state.snapshot().free[rows.CPU].tolist() == [3000, 3000]


class TestGpuDevices:
    """A task of which nobody said which devices it has is given some: it must have them alone."""

    NODE = Cluster().node("n", cpu=9, gpus=2)

    @staticmethod
    def held(snapshot: Snapshot) -> dict[str, tuple[int, ...]]:
        return {task.job.id: task.placement.gpu_devices for task in snapshot.running.tasks}

    def test_it_gets_devices_that_fit(self) -> None:
        cluster = self.NODE.running("a", on=["n"], gpu=0.5).running("b", on=["n"], gpu=1)
        snapshot = snapshot_of(cluster.records)
        assert self.held(snapshot) == {"a": (0,), "b": (1,)}
        assert snapshot.gpu_free.tolist() == [[500, 0]]
        assert snapshot.free[[rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST], 0].tolist() == [500, 0, 500]

    def test_it_keeps_them_when_others_come(self) -> None:
        state = ClusterState()
        state.load(self.NODE.running("b", on=["n"], gpu=1).records)
        assert self.held(state.snapshot()) == {"b": (0,)}
        state.load(Cluster().running("a", on=["n"], gpu=1).records)
        assert self.held(state.snapshot()) == {"a": (1,), "b": (0,)}

    def test_it_gets_none_that_another_is_known_to_have(self) -> None:
        cluster = self.NODE.running("a", on=["n"], gpu=1).running("b", on=["n"], gpu=1, devices=[[0]])
        assert self.held(snapshot_of(cluster.records)) == {"a": (1,), "b": (0,)}

    def test_it_gets_none_that_a_later_rank_of_its_job_is_known_to_have(self) -> None:
        cluster = self.NODE.running("a", on=["n", "n"], gpu=1, devices=[[], [0]])
        snapshot = snapshot_of(cluster.records)
        assert [task.placement.gpu_devices for task in snapshot.running.tasks] == [(1,), (0,)]

    @pytest.mark.parametrize("others", ["", "z"], ids=["the only node", "beside a larger one"])
    def test_devices_that_a_node_no_longer_has_are_no_ones(self, others: str) -> None:
        state = ClusterState()
        state.load(self.NODE.running("a", on=["n"], gpu=2).nodes(others, gpus=2).records)
        assert self.held(state.snapshot()) == {"a": (0, 1)}
        state.set_node(Cluster().node("n", cpu=9, gpus=1).records.nodes[0])
        snapshot = state.snapshot()
        assert snapshot.gpu_free[0].tolist() == [0] * snapshot.gpu_free.shape[1]
        assert snapshot.free[[rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST], 0].tolist() == [0, 0, 0]

    def test_an_overbooked_node_has_no_device_to_give(self) -> None:
        cluster = self.NODE.running("a", on=["n"] * 3, gpu=1).job("w", gpu=0.1)
        assert cluster.plan().waiting() == ["w"]


@pytest.mark.covers("decide-2")
def test_a_job_is_admitted_when_it_comes_in() -> None:
    defaults = Defaults(platforms=(("ci", PlatformDefaults(Resources(cpu_milli=1500))),))
    state = ClusterState(defaults)
    state.load(Cluster().node("n", cpu=4).running("r", on=["n"], spec={"platform": "ci"}).records)
    assert state.snapshot().free[rows.CPU].tolist() == [2500]
    assert state.record(JobId("r")).job.template.groups[0].spec.requests.cpu_milli == 1500


def test_a_resource_that_only_a_new_job_names_gets_a_row() -> None:
    state = ClusterState()
    state.load(Cluster().node("n", cpu=4).records)
    assert "fpga" not in state.snapshot().nodes.index.row
    state.load(Cluster().job("j", extended={"fpga": 1}).records)
    snapshot = state.snapshot()
    assert snapshot.free[snapshot.nodes.index.row["fpga"]].tolist() == [0]


def test_a_job_that_starts_leaves_its_lane() -> None:
    state = ClusterState()
    state.load(Cluster().node("n", cpu=4).job("j", cpu=1).records)
    [record] = Cluster().running("j", on=["n"], cpu=1).records.jobs
    state.set_job(record)
    assert len(state.snapshot().waiting) == 0
    state.set_job(JobRecord(record.job))
    assert len(state.snapshot().waiting) == 1
    assert len(state.snapshot().running) == 0


@pytest.mark.slow
@pytest.mark.covers("trust-1")
def test_resources_that_jobs_once_named_are_forgotten() -> None:
    state = ClusterState()
    state.load(Cluster().node("a", cpu=4).records)
    for number in range(5000):
        [record] = Cluster().job("j", extended={f"r/{number}": 1}).records.jobs
        state.set_job(record)
    assert len(state.snapshot().nodes.index.names) < 2000
