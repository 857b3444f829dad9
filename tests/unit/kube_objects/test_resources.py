"""What a pod asks for: as Kubernetes adds it up."""

import pytest

from rota.model.resources import Resources
from tests.unit.kube_objects.reading import node, pod, refusal, task_spec

GI = 2**30

pytestmark = pytest.mark.covers("kube-3")


def test_containers_add_up() -> None:
    assert task_spec("""
        containers:
        - name: app
          resources: {requests: {cpu: 250m, memory: 1Gi, nvidia.com/gpu: "1"}}
        - name: proxy
          resources: {requests: {cpu: "1", memory: 1Gi, ephemeral-storage: 10Gi}}
        - name: idle
    """).requests == Resources(1250, 2 * GI, 10 * GI, extended=(("nvidia.com/gpu", 1),))


def test_pods_take_one_slot_which_nobody_writes_down() -> None:
    assert task_spec().requests == Resources()


@pytest.mark.parametrize(
    ("before", "cpu_milli"),
    [
        ([], 1000),
        (["init 900m"], 1000),
        (["init 3", "init 2"], 3000),
        (["sidecar 500m"], 1500),
        (["init 2", "sidecar 500m"], 2000),
        (["sidecar 500m", "init 2"], 2500),
        (["sidecar 500m", "init 900m"], 1500),
        (["sidecar 2", "sidecar 3"], 6000),
    ],
    ids=[
        "without init containers",
        "a small one runs before the others",
        "one after the other, so the largest counts",
        "a sidecar runs beside the containers",
        "before the sidecar starts",
        "beside the sidecar, more than the containers",
        "beside the sidecar, less than the containers",
        "several sidecars",
    ],
)
def test_what_starts_before_a_container_of_one_core(before: list[str], cpu_milli: int) -> None:
    restart = {"init": "", "sidecar": "restartPolicy: Always, "}
    init_containers = ", ".join(
        f"{{{restart[kind]}resources: {{requests: {{cpu: {cpu}}}}}}}" for kind, cpu in map(str.split, before)
    )
    spec = task_spec(f"""
        containers:
        - resources: {{requests: {{cpu: 1}}}}
        initContainers: [{init_containers}]
    """)
    assert spec.requests.cpu_milli == cpu_milli


def test_each_resource_has_a_height_of_its_own() -> None:
    assert task_spec("""
        containers:
        - {name: app, resources: {requests: {cpu: 1, memory: 4Gi}}}
        initContainers:
        - {name: unpack, resources: {requests: {cpu: 2, memory: 1Gi}}}
    """).requests == Resources(2000, 4 * GI)


class TestLimits:
    def test_a_limit_is_the_request_where_none_is_given(self) -> None:
        spec = task_spec("""
            containers:
            - name: app
              resources:
                requests: {cpu: 500m}
                limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 1}
            initContainers:
            - name: init
              resources: {limits: {memory: 3Gi}}
        """)
        assert spec.requests == Resources(500, 3 * GI, extended=(("nvidia.com/gpu", 1),))
        assert spec.limits == Resources(2000, 3 * GI, extended=(("nvidia.com/gpu", 1),))

    def test_a_request_of_zero_stays_zero_whatever_the_limit(self) -> None:
        spec = task_spec("""
            containers:
            - name: app
              resources:
                requests: {cpu: 0, memory: "0", example.com/dongle: 0}
                limits: {cpu: 2, memory: 1Gi, example.com/dongle: 0}
        """)
        assert spec.requests == Resources()
        assert spec.limits == Resources(), "a limit without a request would be taken for one"


class TestPodLevel:
    @pytest.mark.parametrize(
        ("resources", "requests"),
        [
            ("null", Resources(1000, GI, extended=(("hugepages-2Mi", 2**22), ("nvidia.com/gpu", 1)))),
            (
                "{requests: {cpu: 3}}",
                Resources(3000, GI, extended=(("hugepages-2Mi", 2**22), ("nvidia.com/gpu", 1))),
            ),
            (
                "{limits: {cpu: 3, hugepages-2Mi: 8Mi}}",
                Resources(1000, GI, extended=(("hugepages-2Mi", 2**23), ("nvidia.com/gpu", 1))),
            ),
            (
                "{requests: {nvidia.com/gpu: 8}}",
                Resources(1000, GI, extended=(("hugepages-2Mi", 2**22), ("nvidia.com/gpu", 1))),
            ),
        ],
        ids=[
            "the containers' where the pod says nothing",
            "the pod's own requests win",
            "the pod's limits count only where containers ask for nothing, and for huge pages",
            "only cpu, memory and huge pages can be stated for the whole pod",
        ],
    )
    def test_requests(self, resources: str, requests: Resources) -> None:
        spec = task_spec(f"""
            containers:
            - name: app
              resources:
                requests: {{cpu: 1, memory: 1Gi}}
                limits: {{nvidia.com/gpu: 1, hugepages-2Mi: 4Mi}}
            resources: {resources}
        """)
        assert spec.requests == requests

    def test_a_limit_is_the_request_where_containers_ask_for_nothing(self) -> None:
        spec = task_spec("resources: {limits: {cpu: 2, memory: 1Gi}}")
        assert spec.requests == spec.limits == Resources(2000, GI)


@pytest.mark.covers("decide-14")
def test_overhead_is_kept_apart() -> None:
    spec = task_spec("""
        containers:
        - {name: app, resources: {requests: {cpu: 1}}}
        runtimeClassName: kata
        overhead: {cpu: 250m, memory: 120Mi}
    """)
    assert spec.requests == Resources(1000)
    assert spec.overhead == Resources(250, 120 * 2**20)
    assert spec.runtime == "kata"


class TestResizingInPlace:
    """A pod holds the largest of what it has, what it was granted and what it wants."""

    @pytest.mark.parametrize(
        ("container", "resize", "cpu_milli"),
        [
            ("ready: true", "", 2000),
            ("resources: {requests: {cpu: 3}}", "", 3000),
            ("resources: {requests: {cpu: 1}}", "", 2000),
            ("resources: {requests: {cpu: 3}}, allocatedResources: {cpu: 4}", "", 4000),
            ("allocatedResources: {cpu: 1}", "Deferred", 2000),
            ("allocatedResources: {cpu: 1}", "Infeasible", 1000),
        ],
        ids=[
            "no resize under way",
            "it still has more than it wants",
            "it wants more than it has",
            "it was granted more than it has",
            "what it wants is deferred",
            "what it wants can't be had",
        ],
    )
    def test_of_a_container_that_wants_two_cores(self, container: str, resize: str, cpu_milli: int) -> None:
        spec = task_spec(
            """
            nodeName: n1
            containers:
            - {name: app, resources: {requests: {cpu: 2}}}
            """,
            node(),
            status=f"""
            containerStatuses: [{{name: app, {container}}}]
            conditions: [{{type: PodResizePending, status: "True", reason: "{resize}"}}]
            """,
        )
        assert spec.requests.cpu_milli == cpu_milli


@pytest.mark.parametrize(
    ("spec", "field", "problem"),
    [
        (
            "containers:\n- {name: a}\n- {name: b, resources: {requests: {cpu: 1x}}}",
            "spec.containers[1].resources.requests.cpu",
            'unknown unit "x" in "1x"',
        ),
        (
            "containers:\n- {name: a, resources: {limits: {memory: -5}}}",
            "spec.containers[0].resources.limits.memory",
            "negative amount -5",
        ),
        (
            "initContainers:\n- {name: a, resources: {requests: {example.com/x: lots}}}",
            'spec.initContainers[0].resources.requests["example.com/x"]',
            '"lots" is not a quantity',
        ),
        ("overhead: {memory: much}", "spec.overhead.memory", '"much" is not a quantity'),
        ("resources: {requests: {cpu: ''}}", "spec.resources.requests.cpu", '"" is not an amount of CPU'),
        (
            "containers:\n- {name: a, resources: {requests: {cpu: [1]}}}",
            "spec.containers[0].resources.requests.cpu",
            "expected text or a whole number or a number, got a list",
        ),
        (
            "containers: [{resources: {requests: {cpu: 1e15}}}, {resources: {requests: {cpu: 1e15}}}]",
            "spec.containers",
            "cpu adds up to an absurd amount",
        ),
        ("containers:\n- main", "spec.containers[0]", 'expected a mapping, got text "main"'),
    ],
)
def test_errors_name_the_field(spec: str, field: str, problem: str) -> None:
    error = refusal(pod(spec=spec))
    assert (error.field, error.problem) == (field, problem)
    assert error.file == "cluster.yaml"
    assert error.line is not None
