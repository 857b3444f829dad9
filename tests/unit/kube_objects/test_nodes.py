"""Nodes as kubectl prints them."""

import pytest

from rota.model.resources import DEFAULT_SLOTS, Resources
from rota.model.taints import Effect, Taint, Toleration, tolerated
from tests.unit.kube_objects.reading import node, only_node, read, refusal

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)


def test_capacity_is_what_is_allocatable() -> None:
    assert only_node("""
        allocatable: {cpu: 1930m, memory: 7Gi, ephemeral-storage: "95491281146", pods: "58"}
        capacity: {cpu: "2", memory: 8Gi, ephemeral-storage: 104845292Ki, pods: "110"}
    """).spec.capacity == Resources(1930, 7 * 2**30, 95491281146, 58)


@pytest.mark.covers("decide-2")
def test_every_other_resource_is_an_extended_one() -> None:
    capacity = only_node("""
        allocatable:
          cpu: "8"
          nvidia.com/gpu: "4"
          hugepages-2Mi: 512Mi
          hugepages-1Gi: "0"
          example.com/dongle: 1k
    """).spec.capacity
    assert dict(capacity.extended) == {
        "example.com/dongle": 1000,
        "hugepages-2Mi": 512 * 2**20,
        "nvidia.com/gpu": 4,
    }


@pytest.mark.parametrize(
    ("status", "cpu_milli", "slots"),
    [
        ("capacity: {cpu: 2, pods: 5}", 2000, 5),
        ("{allocatable: {cpu: 1, pods: 0}, capacity: {cpu: 2, pods: 5}}", 1000, 0),
        ("allocatable: {cpu: 1}", 1000, DEFAULT_SLOTS),
        ("{allocatable: null, conditions: null}", 0, DEFAULT_SLOTS),
    ],
    ids=["only a capacity", "no pods at all", "without a number of pods", "without anything"],
)
def test_what_is_not_stated(status: str, cpu_milli: int, slots: int) -> None:
    capacity = only_node(status).spec.capacity
    assert (capacity.cpu_milli, capacity.slots) == (cpu_milli, slots)


def test_name_labels_and_backend() -> None:
    [read_node] = read("""
        apiVersion: v1
        kind: Node
        metadata:
          name: worker-a
          labels: {topology.kubernetes.io/zone: eu-1a, kubernetes.io/hostname: worker-a}
          annotations: {node.alpha.kubernetes.io/ttl: "0"}
    """).records.nodes
    assert read_node.name == "worker-a"
    assert read_node.spec.labels == (
        ("kubernetes.io/hostname", "worker-a"),
        ("topology.kubernetes.io/zone", "eu-1a"),
    )
    assert read_node.spec.backend == "kubernetes"


def test_taints_know_since_when() -> None:
    assert only_node(
        spec="""
        taints:
        - {key: dedicated, value: gpu, effect: NoSchedule}
        - {key: node.kubernetes.io/unreachable, effect: NoExecute, timeAdded: "1970-01-01T00:01:00Z"}
        """
    ).spec.taints == (
        Taint("dedicated", Effect.NO_SCHEDULE, "gpu"),
        Taint("node.kubernetes.io/unreachable", Effect.NO_EXECUTE, added_ms=60_000),
    )


class TestCordon:
    @pytest.mark.covers("kube-3")
    def test_is_a_taint_that_can_be_tolerated_and_not_the_flag(self) -> None:
        """kube-scheduler lets pods through that tolerate it, such as those of daemon sets."""
        cordoned = only_node(spec="unschedulable: true")
        assert cordoned.spec.taints == (UNSCHEDULABLE,)
        assert not cordoned.cordoned
        assert tolerated(UNSCHEDULABLE, (Toleration(UNSCHEDULABLE.key, exists=True),))

    def test_is_there_once_even_if_the_cluster_has_put_its_taint_on_too(self) -> None:
        cordoned = only_node(
            spec="""
            unschedulable: true
            taints:
            - key: node.kubernetes.io/unschedulable
              effect: NoSchedule
              timeAdded: "1970-01-01T00:01:00Z"
            """
        )
        assert [taint.key for taint in cordoned.spec.taints] == [UNSCHEDULABLE.key]


class TestReadiness:
    @pytest.mark.covers("kube-3")
    @pytest.mark.parametrize(
        ("conditions", "ready"),
        [
            ("null", True),
            ("[]", True),
            ('[{type: MemoryPressure, status: "False"}]', True),
            ('[{type: MemoryPressure, status: "False"}, {type: Ready, status: "True"}]', True),
            ('[{type: Ready, status: "False", reason: KubeletNotReady}]', False),
            ("[{type: Ready, status: Unknown, reason: NodeStatusUnknown}]", False),
        ],
    )
    def test_by_the_ready_condition(self, conditions: str, ready: bool) -> None:
        assert only_node(f"conditions: {conditions}").ready is ready

    @pytest.mark.parametrize(
        ("key", "effect", "ready"),
        [
            ("node.kubernetes.io/not-ready", "NoSchedule", True),
            ("node.kubernetes.io/unreachable", "NoSchedule", True),
            ("node.kubernetes.io/not-ready", "NoExecute", False),
            ("dedicated", "NoSchedule", False),
        ],
    )
    def test_is_left_to_the_taints_where_the_cluster_has_set_them(
        self, key: str, effect: str, ready: bool
    ) -> None:
        """Then a pod that tolerates them may go there, as in Kubernetes."""
        status = 'conditions: [{type: Ready, status: "False"}]'
        assert only_node(status, f"taints: [{{key: {key}, effect: {effect}}}]").ready is ready


@pytest.mark.parametrize(
    ("status", "spec", "field"),
    [
        ("allocatable: {cpu: many}", "", "status.allocatable.cpu"),
        ("allocatable: {memory: -1Gi}", "", "status.allocatable.memory"),
        ("allocatable: {nvidia.com/gpu: [4]}", "", 'status.allocatable["nvidia.com/gpu"]'),
        ("allocatable: {cpu: true}", "", "status.allocatable.cpu"),
        ("capacity: {pods: 1e30}", "", "status.capacity.pods"),
        ("allocatable: [cpu]", "", "status.allocatable"),
        ("", "taints: [{key: a, effect: NoScheduling}]", "spec.taints[0].effect"),
        ("", "taints: [{effect: NoSchedule}]", "spec.taints[0].key"),
        ("", "taints: [{key: a, effect: NoSchedule, timeAdded: soon}]", "spec.taints[0].timeAdded"),
        ("", 'unschedulable: "true"', "spec.unschedulable"),
    ],
)
def test_errors_name_the_field(status: str, spec: str, field: str) -> None:
    error = refusal(node(status=status, spec=spec))
    assert error.field == field
    assert error.line is not None


def test_all_nodes_together_are_countable() -> None:
    nodes = [node(f"n{index}", "allocatable: {example.com/atoms: 1E}") for index in range(5)]
    error = refusal(*nodes)
    assert error.problem == "with this, the example.com/atoms of all nodes is too large"
