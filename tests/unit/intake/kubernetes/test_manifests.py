"""Documents of manifests: which objects are in them, and what is wrong with them."""

import json

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.kubernetes import is_manifest, records_from_manifests
from tests.unit.kube_objects.reading import node, pod, read, refusal


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("{apiVersion: v1, kind: Pod}", True),
        ("{apiVersion: v1, kind: List, items: []}", True),
        ("{apiVersion: apps/v1, kind: Deployment}", True),
        ("{nodes: []}", False),
        ("{kind: Pod}", False),
        ("[]", False),
        ("text", False),
    ],
)
def test_a_manifest_states_its_api_and_kind(text: str, is_one: bool) -> None:
    [document] = parse_documents(text.encode(), "cluster.yaml")
    assert is_manifest(document) is is_one


BARE_NODE = "{metadata: {name: n1}}"
BARE_POD = "{metadata: {name: a}, spec: {nodeName: n1}}"
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1}}"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: n1}}"


def list_of(*items: str, kind: str = "List") -> str:
    return f"{{apiVersion: v1, kind: {kind}, metadata: {{resourceVersion: ''}}, items: [{', '.join(items)}]}}"


@pytest.mark.parametrize(
    "documents",
    [
        [NODE, POD],
        [list_of(NODE, POD)],
        [list_of(BARE_POD, kind="PodList"), list_of(BARE_NODE, kind="NodeList")],
        [list_of(list_of(POD), NODE)],
        [list_of(), NODE, "{apiVersion: v1, kind: List, items: null}", POD],
    ],
    ids=["documents", "a List", "lists of one kind", "a List in a List", "empty Lists too"],
)
def test_objects_are_found_wherever_they_stand(documents: list[str]) -> None:
    records = read(*documents).records
    assert [read_node.name for read_node in records.nodes] == ["n1"]
    [record] = records.jobs
    assert (record.job.id, record.placements[0].node) == ("default/a", "n1")


def test_json_and_yaml_say_the_same() -> None:
    as_yaml = parse_documents(list_of(NODE, POD).encode(), "cluster.yaml")
    as_json = parse_documents(json.dumps(as_yaml[0].data).encode(), "cluster.json")
    assert records_from_manifests(as_json) == records_from_manifests(as_yaml)


def test_documents_of_several_files_are_one_cluster() -> None:
    cluster = parse_documents(NODE.encode(), "nodes.yaml") + parse_documents(POD.encode(), "pods.yaml")
    assert records_from_manifests(cluster).jobs[0].placements


def test_other_kinds_are_left_out_with_a_note() -> None:
    reading = read(
        node("n1"),
        "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None}}",
        "{apiVersion: v1, kind: Service, metadata: {name: b}}",
        "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}}",
        "{apiVersion: nomad.example.com/v1, kind: Job, metadata: {name: other}}",
        "{apiVersion: v1, kind: Event}",
    )
    assert len(reading.records.nodes) == 1
    assert [str(note) for note in reading.notes] == [
        "cluster.yaml: Service is not read: a, b",
        "cluster.yaml: Ingress is not read: web",
        "cluster.yaml: Job of nomad.example.com is not read: other",
        "cluster.yaml: Event is not read: without a name",
    ]


def test_fields_that_do_not_matter_are_not_looked_at() -> None:
    text = pod(spec="dnsPolicy: [7]\nserviceAccount: {odd: true}", metadata="managedFields: 5")
    assert len(read(text).records.jobs) == 1


def test_an_error_names_file_line_and_field() -> None:
    error = refusal("""
        apiVersion: v1
        kind: List
        items:
        - apiVersion: v1
          kind: Node
          metadata: {name: n1}
        - apiVersion: v1
          kind: Pod
          metadata: {name: web}
          spec:
            containers:
            - name: main
              resources:
                requests:
                  memory: 1Gi
                  cpu: -250m
    """)
    assert str(error) == (
        "cluster.yaml:17: items[1].spec.containers[0].resources.requests.cpu:"
        ' negative amount "-250m"; give 0 or more'
    )


def test_all_that_is_wrong_is_named_at_once() -> None:
    error = refusal(
        node(status="allocatable: {cpu: much}"),
        pod("a", "priority: high"),
        pod("b", "nodeName: 7"),
    )
    assert [one.field for one in error.all] == ["spec.priority", "spec.nodeName", "status.allocatable.cpu"]


def test_but_not_more_than_one_can_mend() -> None:
    assert len(refusal(*(pod(f"p{index}", "priority: high") for index in range(100))).all) == 20


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("{apiVersion: v1, kind: List, items: 5}", "items", "expected a list of objects, got the number 5"),
        (
            "{apiVersion: v1, kind: List, items: [text]}",
            "items[0]",
            'expected a Kubernetes object, got text "text"',
        ),
        ("{apiVersion: v1, kind: List, items: [{}]}", "items[0].kind", "expected text, got nothing"),
        ("{apiVersion: v1, kind: [Pod]}", "kind", "expected text, got a list"),
        ("{apiVersion: 1, kind: Pod}", "apiVersion", "expected text, got the number 1"),
        ("{apiVersion: v1, kind: Pod, spec: {}}", "metadata", "is missing"),
        ("{apiVersion: v1, kind: Pod, metadata: {name: a}}", "spec", "is missing"),
        ("{apiVersion: v1, kind: Pod, metadata: {}, spec: {}}", "metadata.name", "is missing"),
        (
            "{apiVersion: v1, kind: Pod, metadata: {labels: {}}, spec: {}}",
            "metadata.name",
            "is missing",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: a/b}, spec: {}}",
            "metadata.name",
            '"a/b" is not a name of a Kubernetes object',
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: 'x:y'}, spec: {}}",
            "metadata.namespace",
            '"x:y" is not a name of a Kubernetes object',
        ),
        (
            "{apiVersion: v1, kind: Node, metadata: {name: ''}}",
            "metadata.name",
            '"" is not a name of a Kubernetes object',
        ),
        (
            "{apiVersion: v1, kind: Node, metadata: {name: a, labels: {rack: 5}}}",
            "metadata.labels.rack",
            "expected text, got the number 5",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: yesterday}, spec: {}}",
            "metadata.creationTimestamp",
            "Invalid RFC3339 encoded datetime",
        ),
        (
            "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}}",
            "value",
            "is missing",
        ),
    ],
)
def test_objects_that_are_none(text: str, field: str, problem: str) -> None:
    error = refusal(text)
    assert (error.field, error.problem) == (field, problem)


def test_an_object_stands_there_once() -> None:
    error = refusal(pod("a"), node("n1"), pod("a", namespace="other"), pod("a"))
    assert error.problem == "Pod shop/a is in cluster.yaml, line 1, already"
