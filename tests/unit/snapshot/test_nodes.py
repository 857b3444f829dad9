"""Nodes as columns: their order, what they hold, and how their labels are read."""

import numpy as np
import pytest

from rota.model.resources import DEFAULT_SLOTS
from rota.model.selectors import Operator, Requirement
from rota.snapshot import Snapshot, rows, snapshot_of
from rota.snapshot.nodes import NODE_KEY, NodeColumns
from tests.builders import Cluster
from tests.words import taint, when


def columns(cluster: Cluster) -> NodeColumns:
    return snapshot_of(cluster.records).nodes


def labels(cluster: Cluster, key: str) -> dict[str, str | None]:
    nodes = columns(cluster)
    return dict(zip(nodes.names, nodes.label(key).texts(), strict=True))


def domains(cluster: Cluster, key: str) -> dict[str, str | None]:
    nodes = columns(cluster)
    return dict(zip(nodes.names, nodes.topology(key).texts(), strict=True))


class TestOrder:
    @pytest.mark.covers("decide-9")
    def test_cheaper_nodes_come_first_then_lower_names(self) -> None:
        cluster = Cluster().node("d", price=1).node("b").node("c", price=0.5).node("a", price=1)
        assert columns(cluster).names == ("b", "c", "a", "d")

    def test_nodes_that_exist_come_before_nodes_that_could_be_had(self) -> None:
        cluster = (
            Cluster()
            .offer("slow", price=1, startup=90)
            .offer("quick", price=1, startup=30)
            .offer("dear", price=2)
            .node("own", price=9)
            .job("j")
        )
        assert columns(cluster).names == ("own", "quick#0", "slow#0", "dear#0")

    def test_positions_are_those_of_the_names(self) -> None:
        nodes = columns(Cluster().nodes("c a b"))
        assert [nodes.names[nodes.position[name]] for name in nodes.names] == list(nodes.names)


class TestOffers:
    @pytest.mark.parametrize(("limit", "waiting", "found"), [(5, 3, 3), (2, 3, 2), (5, 0, 0), (0, 3, 0)])
    def test_an_offer_is_at_most_as_many_nodes_as_tasks_that_wait(
        self, limit: int, waiting: int, found: int
    ) -> None:
        cluster = Cluster().offer("o", limit=limit)
        if waiting:
            cluster = cluster.job("j", tasks=waiting)
        assert len(columns(cluster)) == found

    def test_what_runs_does_not_count_as_waiting(self) -> None:
        cluster = Cluster().node("n").offer("o", limit=9).running("r", on=["n", "n"], tasks=3)
        assert columns(cluster).names == ("n", "o#0")

    def test_offered_nodes_are_ready_and_know_how_long_they_take_to_start(self) -> None:
        nodes = columns(Cluster().node("n", ready=False).offer("o", limit=2, startup=30).job("j", tasks=2))
        assert nodes.exists.tolist() == [True, False, False]
        assert nodes.ready.tolist() == [False, True, True]
        assert nodes.startup_ms.tolist() == [0, 30_000, 30_000]


class TestCapacity:
    @staticmethod
    def of(snapshot: Snapshot, node: str) -> dict[str, int]:
        nodes = snapshot.nodes
        column = nodes.capacity[:, nodes.names.index(node)]
        return {name: int(column[row]) for name, row in nodes.index.row.items() if column[row]}

    def test_each_resource_in_its_row(self) -> None:
        cluster = Cluster().node("n", cpu=2, memory="1Ki", storage="3Ki", slots=5, gpus=2, extended={"f": 4})
        assert self.of(snapshot_of(cluster.records), "n") == {
            "cpu": 2000,
            "memory": 1024,
            "storage": 3072,
            "slots": 5,
            "shares": rows.NODE_SHARES,
            "gpu": 2000,
            "gpu-idle": 2,
            "gpu-best": 1000,
            "f": 4,
        }

    def test_a_node_that_states_no_slots_has_as_many_as_usual(self) -> None:
        assert self.of(snapshot_of(Cluster().node("n").records), "n")["slots"] == DEFAULT_SLOTS

    def test_a_resource_that_only_another_node_has_is_zero(self) -> None:
        snapshot = snapshot_of(Cluster().node("a", extended={"f": 1}).node("b").records)
        assert "f" not in self.of(snapshot, "b")

    def test_devices_beyond_a_nodes_own_are_empty(self) -> None:
        nodes = columns(Cluster().node("a", gpus=2).node("b").node("c", gpus=1))
        assert nodes.gpu_capacity.tolist() == [[1000, 1000], [0, 0], [1000, 0]]

    def test_a_cluster_without_gpus_has_no_devices(self) -> None:
        assert columns(Cluster().nodes("a b")).gpu_capacity.shape == (2, 0)


class TestShares:
    def test_a_share_is_a_part_of_the_nodes_own_capacity(self) -> None:
        nodes = columns(Cluster().node("big", cpu=8).node("none").node("small", cpu=2))
        assert (nodes.ppm[rows.CPU] * 1000).tolist() == [125_000, 0, 500_000]

    @pytest.mark.covers("decide-6")
    def test_measured_load_counts_as_slots_that_are_taken(self) -> None:
        nodes = columns(Cluster().node("a").node("b", load=250).node("c", load=4000))
        ratio = nodes.ppm[rows.SLOTS] / nodes.ppm[rows.SLOTS, 0]
        assert np.allclose(ratio, [1, 0.75, 0])


class TestLabels:
    def test_a_column_has_the_value_of_each_node(self) -> None:
        cluster = Cluster().node("a", labels={"disk": "ssd"}).node("b", labels={"disk": "hdd"}).node("c")
        assert labels(cluster, "disk") == {"a": "ssd", "b": "hdd", "c": None}

    def test_a_key_that_no_node_has_is_a_column_too(self) -> None:
        assert labels(Cluster().nodes("a b"), "none") == {"a": None, "b": None}

    def test_labels_are_taken_as_they_are(self) -> None:
        cluster = Cluster().node("a", labels={"topology.kubernetes.io/zone": "west"})
        assert labels(cluster, "zone") == {"a": None}

    @pytest.mark.covers("decide-3")
    @pytest.mark.parametrize(
        ("condition", "found"),
        [
            ("disk In ssd", "a"),
            ("disk NotIn ssd", "bc"),
            ("disk Exists", "ab"),
            ("disk DoesNotExist", "c"),
            ("cores Gt 4", "a"),
            ("cores Lt 8", "b"),
        ],
    )
    def test_a_condition_is_judged_once_a_value_and_holds_for_the_nodes_with_it(
        self, condition: str, found: str
    ) -> None:
        nodes = columns(
            Cluster()
            .node("a", labels={"disk": "ssd", "cores": "8"})
            .node("b", labels={"disk": "hdd", "cores": "4"})
            .node("c", labels={"cores": "many"})
        )
        requirement = when(condition)
        mask = nodes.label(requirement.key).matching(requirement)
        assert "".join(name for name, holds in zip(nodes.names, mask, strict=True) if holds) == found


@pytest.mark.covers("decide-4")
class TestTopology:
    @pytest.mark.parametrize("short", ["zone", "region"])
    def test_the_short_key_stands_for_that_of_kubernetes(self, short: str) -> None:
        long = f"topology.kubernetes.io/{short}"
        cluster = (
            Cluster()
            .node("a", labels={long: "long"})
            .node("b", labels={short: "short"})
            .node("c", labels={short: "short", long: "long"})
            .node("d")
        )
        assert domains(cluster, short) == {"a": "long", "b": "short", "c": "short", "d": None}
        assert domains(cluster, long) == {"a": "long", "b": None, "c": "long", "d": None}

    def test_every_node_is_a_host_of_its_own(self) -> None:
        cluster = Cluster().node("a", labels={"kubernetes.io/hostname": "ip-1"}).node("b")
        assert domains(cluster, "host") == {"a": "a", "b": "b"}
        assert domains(cluster, "kubernetes.io/hostname") == {"a": "ip-1", "b": "b"}

    def test_any_other_label_makes_domains_of_the_nodes_that_have_it(self) -> None:
        cluster = Cluster().node("a", labels={"rack": "r1"}).node("b", labels={"rack": "r1"}).node("c")
        assert domains(cluster, "rack") == {"a": "r1", "b": "r1", "c": None}


def test_pools_backends_and_gpu_models_are_columns_as_well() -> None:
    nodes = columns(
        Cluster()
        .node("a", pool="p", backend="kube", gpus=1, gpu_model="H100")
        .node("b", pool="q", backend="slurm")
    )
    for column, values in [
        (nodes.pool, ["p", "q"]),
        (nodes.backend, ["kube", "slurm"]),
        (nodes.gpu_model, ["H100", ""]),
    ]:
        assert [column.values[code] for code in column.codes.tolist()] == values


def test_nodes_with_equal_taints_share_one_set() -> None:
    nodes = columns(
        Cluster().nodes("a c", taints=["x:NoSchedule"]).node("b").node("d", taints=["y:NoExecute"])
    )
    assert nodes.taint_sets == ((taint("x:NoSchedule"),), (), (taint("y:NoExecute"),))
    assert nodes.taint_set.tolist() == [0, 1, 0, 2]


def test_a_cluster_without_nodes_has_empty_columns() -> None:
    nodes = columns(Cluster().job("j", cpu=1))
    assert len(nodes) == 0
    assert nodes.taint_sets == ()
    assert len(nodes.label("zone").codes) == 0


@pytest.mark.parametrize("operator", [Operator.IN, Operator.NOT_IN])
def test_many_values_mean_what_few_mean(operator: Operator) -> None:
    nodes = columns(Cluster().nodes("a b c", labels={"host": "h1"}).node("d"))
    few = Requirement("host", operator, ("h1",))
    many = Requirement("host", operator, ("h1", *(f"x{number}" for number in range(100))))
    column = nodes.label("host")
    assert column.matching(many).tolist() == column.matching(few).tolist()
    names = Requirement(NODE_KEY, operator, ("a", *(f"x{number}" for number in range(100))))
    assert nodes.label(NODE_KEY).matching(names).tolist() == [
        (name == "a") is (operator is Operator.IN) for name in nodes.names
    ]


@pytest.mark.covers("trust-1")
def test_labels_that_no_node_has_leave_nothing_behind() -> None:
    nodes = snapshot_of(Cluster().node("a", labels={"disk": "ssd"}).records).nodes
    for number in range(100):
        assert nodes.label(f"key-{number}").texts() == [None]
        assert nodes.topology(f"key-{number}").texts() == [None]
    assert len(nodes.labels) + len(nodes.topologies) < 5
