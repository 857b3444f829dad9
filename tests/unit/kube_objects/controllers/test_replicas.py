"""Deployments and their like: as many pods as are missing; StatefulSets, with names and claims."""

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.kubernetes import ClusterObjects
from rota.model.job import JobRecord
from tests.unit.kube_objects.controllers.objects import TEMPLATE, made_by, workload
from tests.unit.kube_objects.reading import jobs, node, pod, read

pytestmark = pytest.mark.covers("first-5")
SPEC = f"replicas: 3\ntemplate: {TEMPLATE}"


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("apps/v1", "Deployment"),
        ("extensions/v1beta1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("v1", "ReplicationController"),
    ],
)
def test_as_many_as_it_asks_for_one_by_one(api: str, kind: str) -> None:
    record = jobs(workload(api, kind, f"replicas: 3\ntemplate: {TEMPLATE}"))["ml/web"]
    assert record.job.task_names == ("ml/web-0", "ml/web-1", "ml/web-2")
    assert record.job.template.min_count == 1
    [group] = record.job.template.groups
    assert (group.spec.requests.cpu_milli, dict(group.spec.labels)) == (2000, {"app": "web"})


def tasks(found: dict[str, JobRecord], name: str = "ml/web") -> int:
    return found[name].job.template.task_count if name in found else 0


@pytest.mark.parametrize(
    ("spec", "count"), [("", 1), ("replicas: 0", 0), ("paused: true", 0), ("replicas: 2", 2)]
)
def test_defaults(spec: str, count: int) -> None:
    assert tasks(jobs(workload("apps/v1", "Deployment", f"{spec}\ntemplate: {TEMPLATE}"))) == count


def test_pods_that_are_there_count_through_the_replica_set() -> None:
    found = jobs(
        workload("apps/v1", "Deployment", f"replicas: 3\ntemplate: {TEMPLATE}"),
        workload(
            "apps/v1",
            "ReplicaSet",
            f"replicas: 3\ntemplate: {TEMPLATE}",
            name="web-5d",
            owner="Deployment web",
        ),
        made_by("ReplicaSet web-5d", "web-5d-x"),
        made_by("ReplicaSet web-5d", "web-5d-y", phase="Failed"),
    )
    assert tasks(found) == 2
    assert "ml/web-5d" not in found


def test_a_replica_set_whose_deployment_is_not_there_stands_for_itself() -> None:
    manifest = workload("apps/v1", "ReplicaSet", f"template: {TEMPLATE}", owner="Deployment other")
    assert tasks(jobs(manifest)) == 1


def test_two_kinds_may_have_one_name() -> None:
    found = jobs(
        workload("apps/v1", "Deployment", f"template: {TEMPLATE}"),
        workload("v1", "ReplicationController", f"template: {TEMPLATE}"),
    )
    assert sorted(found) == ["ml/replicationcontroller:web", "ml/web"]


class TestStatefulSet:
    def test_each_pod_keeps_its_name_and_index(self) -> None:
        found = jobs(
            workload("apps/v1", "StatefulSet", f"replicas: 2\nordinals: {{start: 5}}\ntemplate: {TEMPLATE}"),
            pod("web-6", namespace="ml"),
        )
        assert sorted(found) == ["ml/web-5", "ml/web-6"]
        labels = dict(found["ml/web-5"].job.template.groups[0].spec.labels)
        assert labels["apps.kubernetes.io/pod-index"] == "5"
        assert labels["statefulset.kubernetes.io/pod-name"] == "web-5"

    def test_a_claim_that_is_bound_says_where_its_pod_can_run(self) -> None:
        claims = "volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]"
        found = jobs(
            workload("apps/v1", "StatefulSet", f"replicas: 2\n{claims}\ntemplate: {TEMPLATE}"),
            "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-web-0, namespace: ml},"
            " spec: {volumeName: disk}}",
            "{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {nodeAffinity: {required:"
            " {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}}}",
            node("n1"),
        )
        first, second = (found[f"ml/web-{index}"].job.template.groups[0].spec for index in range(2))
        assert first.volume_nodes
        assert not second.volume_nodes


def test_a_bare_template_is_one_pod() -> None:
    manifest = (
        f"{{apiVersion: v1, kind: PodTemplate, metadata: {{name: web, namespace: ml}}, template: {TEMPLATE}}}"
    )
    assert list(jobs(manifest)) == ["ml/web"]


def test_a_name_that_the_cluster_would_make_up() -> None:
    manifest = workload("apps/v1", "Deployment", f"template: {TEMPLATE}").replace(
        "name: web,", "generateName: web-,"
    )
    assert sorted(jobs(manifest, manifest)) == ["ml/web", "ml/web-2"]


def test_one_that_can_not_be_read_leaves_the_others() -> None:
    bad = workload("apps/v1", "Deployment", f"template: {TEMPLATE}", name="bad").replace("cpu: 2", "cpu: x")
    text = "\n---\n".join([bad, workload("apps/v1", "Deployment", f"template: {TEMPLATE}")])
    objects = ClusterObjects(parse_documents(text.encode(), "k.yaml"))
    reading = objects.read(objects.nodes)
    assert [one.job.id for one in reading.records.jobs] == ["ml/web"]
    assert [one.field for one in reading.faults] == [
        "spec.template.spec.containers[0].resources.requests.cpu"
    ]
    assert read(workload("apps/v1", "Deployment", f"template: {TEMPLATE}")).faults == ()
