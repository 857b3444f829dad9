"""Pods as jobs of one task: what they need, how urgent they are, and whether they run."""

import pytest

from rota.model.job import Placement
from rota.model.resources import HostPort
from rota.model.selectors import NodeTerm, Operator, PreferredNodeTerm, Requirement, Selector
from rota.model.taints import Effect, Toleration
from rota.model.task import VolumeNodes
from tests.unit.kube_objects.reading import jobs, node, pod, read, refusal, task_spec


class TestIdentity:
    def test_job_and_task_are_known_by_namespace_and_name(self) -> None:
        job = jobs(pod("web-7f", namespace="shop"))["shop/web-7f"].job
        assert job.task_name(0) == "shop/web-7f"
        assert (job.template.namespace, job.template.project, job.template.user) == (
            "shop",
            "shop",
            "default",
        )

    def test_without_a_namespace_it_is_in_the_default_one(self) -> None:
        assert list(jobs("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}")) == ["default/a"]

    def test_labels_are_those_that_selectors_of_other_pods_see(self) -> None:
        assert task_spec(metadata="labels: {tier: front, app: web}").labels == (
            ("app", "web"),
            ("tier", "front"),
        )

    def test_it_is_submitted_when_it_was_created(self) -> None:
        record = jobs(pod(metadata='creationTimestamp: "2024-05-01T12:00:00Z"'))["shop/web"]
        assert record.job.submitted_ms == 1_714_564_800_000

    def test_pods_that_are_only_written_down_come_in_that_order(self) -> None:
        found = jobs(pod("b"), pod("a"), pod("c"))
        assert [found[f"shop/{name}"].job.submitted_ms for name in "bac"] == [0, 1, 2]

    @pytest.mark.parametrize(
        ("scheduler", "name"),
        [("default-scheduler", ""), ("batch-scheduler", "batch-scheduler"), ("null", "")],
    )
    def test_scheduler(self, scheduler: str, name: str) -> None:
        template = jobs(pod(spec=f"schedulerName: {scheduler}"))["shop/web"].job.template
        assert template.scheduler == name

    def test_a_deadline_is_a_time_limit(self) -> None:
        template = jobs(pod(spec="activeDeadlineSeconds: 90"))["shop/web"].job.template
        assert template.time_limit_ms == 90_000

    def test_equal_pods_share_one_spec_and_one_template(self) -> None:
        """Though a cluster gives each its own token volume, node and times."""
        read_jobs = jobs(
            node("n1"),
            pod("a", "nodeName: n1\nvolumes: [{name: kube-api-access-x1, projected: {}}]"),
            pod("b", "volumes: [{name: kube-api-access-y2, projected: {}}]"),
        )
        assert read_jobs["shop/a"].job.template is read_jobs["shop/b"].job.template


class TestState:
    @pytest.mark.parametrize(
        ("spec", "metadata", "phase", "outcome"),
        [
            ("", "", "", "waits"),
            ("", "", "Pending", "waits"),
            ("nodeName: n1", "", "Running", "runs"),
            ("nodeName: n1", "", "Pending", "runs"),
            ("nodeName: n1", "", "Unknown", "runs"),
            ("nodeName: n1", 'deletionTimestamp: "2024-05-01T12:00:00Z"', "Running", "runs"),
            ("", 'deletionTimestamp: "2024-05-01T12:00:00Z"', "Pending", "is left out"),
            ("nodeName: n1", "", "Succeeded", "is left out"),
            ("nodeName: n1", "", "Failed", "is left out"),
            ("schedulingGates: [{name: example.com/quota}]", "", "Pending", "is left out"),
            ("schedulingGates: []", "", "Pending", "waits"),
            ("nodeName: elsewhere", "", "Running", "is left out"),
        ],
    )
    def test_a_pod(self, spec: str, metadata: str, phase: str, outcome: str) -> None:
        record = jobs(node("n1"), pod("web", spec, metadata=metadata, status=f"phase: '{phase}'")).get(
            "shop/web"
        )
        if outcome == "is left out":
            assert record is None
        else:
            assert record is not None
            assert bool(record.placements) is (outcome == "runs")

    @pytest.mark.parametrize(
        ("status", "started_ms"),
        [('startTime: "1970-01-01T00:02:00Z"', 120_000), ("phase: Pending", 60_000)],
    )
    def test_it_runs_since_it_was_started_or_at_least_created(self, status: str, started_ms: int) -> None:
        created = 'creationTimestamp: "1970-01-01T00:01:00Z"'
        record = jobs(node("n1"), pod("web", "nodeName: n1", metadata=created, status=status))["shop/web"]
        assert record.placements == (Placement(0, record.placements[0].node, started_ms),)
        assert record.placements[0].node == "n1"

    def test_notes_say_what_was_left_out(self) -> None:
        reading = read(
            pod("far", "nodeName: elsewhere"),
            pod("gated", "schedulingGates: [{name: example.com/quota}]"),
        )
        assert [str(note) for note in reading.notes] == [
            "cluster.yaml: on a node that is not in these files, so left out: shop/far",
            "cluster.yaml: has scheduling gates, so it is left out: shop/gated",
        ]


@pytest.mark.covers("kube-3")
class TestPorts:
    @pytest.mark.parametrize(
        ("containers", "ports"),
        [
            ("[{ports: [{containerPort: 80}]}]", ()),
            ("[{ports: [{containerPort: 80, hostPort: 8080}]}]", (HostPort(8080),)),
            (
                "[{ports: [{containerPort: 53, hostPort: 53, protocol: UDP, hostIP: 10.0.0.1}]}]",
                (HostPort(53, "UDP", "10.0.0.1"),),
            ),
            ("[{ports: [{containerPort: 80, hostPort: 80, hostIP: 0.0.0.0}]}]", (HostPort(80),)),
            (
                "[{ports: [{containerPort: 9, hostPort: 9}]}, {ports: [{containerPort: 8, hostPort: 8}]}]",
                (HostPort(8), HostPort(9)),
            ),
        ],
        ids=[
            "a port of the container alone is none of the host",
            "a host port",
            "with protocol and address",
            "every address",
            "of all containers",
        ],
    )
    def test_of_containers(self, containers: str, ports: tuple[HostPort, ...]) -> None:
        assert task_spec(f"containers: {containers}").ports == ports

    def test_on_the_network_of_the_host_every_port_is_one_of_the_host(self) -> None:
        spec = task_spec("""
            hostNetwork: true
            containers:
            - ports: [{containerPort: 80}]
        """)
        assert spec.ports == (HostPort(80),)

    def test_of_sidecars_but_not_of_what_has_ended_when_containers_start(self) -> None:
        spec = task_spec("""
            initContainers:
            - restartPolicy: Always
              ports: [{containerPort: 1, hostPort: 1}]
            - ports: [{containerPort: 2, hostPort: 2}]
        """)
        assert spec.ports == (HostPort(1),)


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def required_nodes(terms: str) -> str:
    return f"affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: {terms}}}}}}}"


@pytest.mark.covers("kube-3")
class TestNodeSelection:
    def test_node_selector(self) -> None:
        assert task_spec("nodeSelector: {disk: ssd, arch: arm64}").node_selector == (
            ("arch", "arm64"),
            ("disk", "ssd"),
        )

    def test_required_affinity_has_alternatives_of_conditions(self) -> None:
        spec = task_spec("""
            affinity:
              nodeAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                  nodeSelectorTerms:
                  - matchExpressions:
                    - {key: zone, operator: NotIn, values: [c, b]}
                    - {key: cores, operator: Gt, values: ["8"]}
                  - matchExpressions:
                    - {key: gpu, operator: Exists}
                    matchFields:
                    - {key: metadata.name, operator: In, values: [n1]}
        """)
        assert spec.node_affinity == (
            NodeTerm(
                Selector(
                    (
                        Requirement("cores", Operator.GT, ("8",)),
                        Requirement("zone", Operator.NOT_IN, ("b", "c")),
                    )
                )
            ),
            NodeTerm(
                Selector((Requirement("gpu", Operator.EXISTS),)),
                (Requirement("metadata.name", Operator.IN, ("n1",)),),
            ),
        )

    @pytest.mark.parametrize("terms", ["[]", "null", "[{}]", "[{matchExpressions: [], matchFields: null}]"])
    def test_terms_without_conditions_match_no_node(self, terms: str) -> None:
        [term] = task_spec(required_nodes(terms)).node_affinity
        assert not term.labels.selects(())
        assert not term.labels.selects((("a", "b"),))
        assert not term.names, "it names no node, not even none"

    def test_an_empty_term_beside_others_holds_nowhere(self) -> None:
        spec = task_spec(required_nodes("[{}, {matchExpressions: [{key: a, operator: Exists}]}]"))
        empty, other = spec.node_affinity
        assert not empty.labels.selects((("a", "b"),))
        assert other == NodeTerm(Selector((Requirement("a", Operator.EXISTS),)))

    def test_preferred_affinity_has_weights_and_ignores_empty_terms(self) -> None:
        spec = task_spec("""
            affinity:
              nodeAffinity:
                preferredDuringSchedulingIgnoredDuringExecution:
                - {weight: 80, preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}
                - {weight: 1, preference: {}}
        """)
        term = NodeTerm(Selector((Requirement("disk", Operator.IN, ("ssd",)),)))
        assert spec.preferred_nodes == (PreferredNodeTerm(80, term),)


VOLUME = """
    apiVersion: v1
    kind: PersistentVolume
    metadata: {name: pv-1}
    spec:
      local: {path: /mnt/disks/ssd1}
      nodeAffinity:
        required:
          nodeSelectorTerms:
          - matchExpressions: [{key: host, operator: In, values: [n1]}]
          - matchExpressions: [{key: host, operator: In, values: [n2]}]
"""


def claim(name: str, volume: str = "pv-1", namespace: str = "shop") -> str:
    return f"""
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {{name: {name}, namespace: {namespace}}}
        spec: {{volumeName: {volume}}}
    """


def on(host: str, *more: Requirement) -> NodeTerm:
    return NodeTerm(Selector((*more, Requirement("host", Operator.IN, (host,)))))


@pytest.mark.covers("kube-3")
class TestVolumes:
    def test_a_pod_goes_where_its_bound_volume_is(self) -> None:
        spec = task_spec(
            "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]", VOLUME, claim("data")
        )
        assert spec.volume_nodes == (VolumeNodes((on("n1"), on("n2"))),)
        assert spec.node_affinity == (), "spreads look at what the pod says of nodes, and at nothing else"

    def test_an_ephemeral_volume_has_a_claim_by_the_name_of_pod_and_volume(self) -> None:
        spec = task_spec(
            "volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {}}}]", VOLUME, claim("web-scratch")
        )
        assert spec.volume_nodes == (VolumeNodes((on("n1"), on("n2"))),)

    @pytest.mark.parametrize(
        "other",
        [claim("data", namespace="elsewhere"), claim("data", volume="unknown"), claim("data", volume="''")],
        ids=["of another namespace", "bound to a volume that is not there", "not bound"],
    )
    def test_other_claims_bind_to_no_node(self, other: str) -> None:
        spec = task_spec("volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]", VOLUME, other)
        assert spec.volume_nodes == ()


@pytest.mark.covers("kube-3")
@pytest.mark.parametrize(
    ("toleration", "meaning"),
    [
        (
            "{key: dedicated, value: gpu, effect: NoSchedule}",
            Toleration("dedicated", value="gpu", effect=Effect.NO_SCHEDULE),
        ),
        ("{key: dedicated, operator: Equal, value: gpu}", Toleration("dedicated", value="gpu")),
        ("{key: dedicated, operator: Exists}", Toleration("dedicated", exists=True)),
        ("{operator: Exists}", Toleration(exists=True)),
        ("{operator: Exists, effect: ''}", Toleration(exists=True)),
        (
            "{key: example.com/slow, operator: Exists, effect: NoExecute, tolerationSeconds: 300}",
            Toleration("example.com/slow", exists=True, effect=Effect.NO_EXECUTE, seconds=300),
        ),
    ],
)
def test_tolerations(toleration: str, meaning: Toleration) -> None:
    assert task_spec(f"tolerations: [{toleration}]").tolerations == (meaning,)


CLASSES = """
    apiVersion: scheduling.k8s.io/v1
    kind: PriorityClassList
    items:
    - {metadata: {name: urgent}, value: 5000}
    - {metadata: {name: polite}, value: 70, preemptionPolicy: Never}
    - {metadata: {name: usual}, value: 7, globalDefault: true}
    - {metadata: {name: rival}, value: 9, globalDefault: true}
"""


class TestPriority:
    @pytest.mark.parametrize(
        ("spec", "priority", "may_preempt"),
        [
            ("", 7, True),
            ("priority: -5", -5, True),
            ("priority: 10\npriorityClassName: urgent", 10, True),
            ("priorityClassName: urgent", 5000, True),
            ("priorityClassName: polite", 70, False),
            ("priorityClassName: polite\npreemptionPolicy: PreemptLowerPriority", 70, True),
            ("priority: 10\npreemptionPolicy: Never", 10, False),
            ("priorityClassName: system-cluster-critical", 2_000_000_000, True),
            ("priorityClassName: system-node-critical", 2_000_001_000, True),
            ("priorityClassName: unheard-of", 7, True),
        ],
    )
    def test_of_a_pod(self, spec: str, priority: int, may_preempt: bool) -> None:
        template = jobs(pod(spec=spec), CLASSES)["shop/web"].job.template
        assert (template.priority, template.may_preempt) == (priority, may_preempt)

    def test_without_classes_it_is_zero(self) -> None:
        template = jobs(pod())["shop/web"].job.template
        assert (template.priority, template.may_preempt) == (0, True)

    def test_an_unknown_class_is_noted(self) -> None:
        [note] = read(pod(spec="priorityClassName: unheard-of")).notes
        assert note.subjects == ("shop/web",)
        assert "unheard-of" in note.reason


REQUIRED_TERM = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("tolerations: [{key: a, operator: Exist}]", "spec.tolerations[0].operator"),
        ("tolerations: [{value: a}]", "spec.tolerations[0]"),
        ("tolerations: [{key: a, operator: Exists, value: b}]", "spec.tolerations[0]"),
        ("tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 3}]", "spec.tolerations[0]"),
        ("tolerations: [{key: a, effect: Evict}]", "spec.tolerations[0].effect"),
        (
            "containers: [{ports: [{containerPort: 1, hostPort: 70000}]}]",
            "spec.containers[0].ports[0].hostPort",
        ),
        ("nodeSelector: {disk: 5}", "spec.nodeSelector.disk"),
        ("priority: high", "spec.priority"),
        ("priority: 99999999999", "spec.priority"),
        ("preemptionPolicy: Sometimes", "spec.preemptionPolicy"),
        ("nodeName: [n1]", "spec.nodeName"),
        (
            required_nodes("[{matchExpressions: [{key: a, operator: Near, values: [b]}]}]"),
            f"{REQUIRED_TERM}.matchExpressions[0].operator",
        ),
        (
            required_nodes("[{matchExpressions: [{key: a, operator: Gt, values: [much]}]}]"),
            f"{REQUIRED_TERM}.matchExpressions[0]",
        ),
        (
            required_nodes("[{matchFields: [{key: metadata.uid, operator: In, values: [b]}]}]"),
            f"{REQUIRED_TERM}.matchFields[0].key",
        ),
        (
            f"affinity: {{nodeAffinity: {{{PREFERRED}: [{{weight: 101, preference: {{}}}}]}}}}",
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight",
        ),
    ],
)
def test_errors_name_the_field(spec: str, field: str) -> None:
    error = refusal(pod(spec=spec))
    assert error.field == field
    assert error.line is not None


def test_devices_by_claim_are_refused_until_the_pod_has_a_node() -> None:
    """Who runs has its devices already, and takes room as all do."""
    claims = "resourceClaims: [{name: gpu, resourceClaimName: one}]"
    assert "spec.resourceClaims" in str(refusal(pod(spec=claims)))
    assert jobs(node(), pod(spec=f"{claims}\nnodeName: n1"))["shop/web"].placements
