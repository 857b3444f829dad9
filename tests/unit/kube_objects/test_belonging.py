"""Whose a pod is, as it says itself."""

from __future__ import annotations

import pytest

from rota.model.resources import Resources
from tests.unit.kube_objects.reading import jobs, pod, refusal, task_spec

pytestmark = pytest.mark.covers("kube-11")

KEY = "batch.scheduling.k8s.io/"


def test_without_labels_it_is_of_its_namespace() -> None:
    template = jobs(pod())["shop/web"].job.template
    assert (template.project, template.user, template.queue) == ("shop", "default", "default")
    assert not template.groups[0].spec.exclusive


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_project_user_queue_and_a_node_for_itself(field: str) -> None:
    said = f'{{"{KEY}project": vision, "{KEY}user": ada, "{KEY}queue": nightly, "{KEY}exclusive": "true"}}'
    template = jobs(pod(metadata=f"{field}: {said}"))["shop/web"].job.template
    assert (template.project, template.user, template.queue) == ("vision", "ada", "nightly")
    assert template.groups[0].spec.exclusive
    assert template.namespace == "shop"


def test_the_label_counts_before_the_annotation() -> None:
    metadata = f'labels: {{"{KEY}user": ada}}\nannotations: {{"{KEY}user": bob@example.org}}'
    assert jobs(pod(metadata=metadata))["shop/web"].job.template.user == "ada"
    metadata = f'annotations: {{"{KEY}user": bob@example.org}}'
    assert jobs(pod(metadata=metadata))["shop/web"].job.template.user == "bob@example.org"


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("project", "a/b", "slash"),
        ("user", "two words", "not a name"),
        ("queue", "", "empty"),
        ("exclusive", "maybe", "neither true nor false"),
    ],
)
def test_what_cant_be_used_is_named(key: str, value: str, problem: str) -> None:
    error = refusal(pod(metadata=f'annotations: {{"{KEY}{key}": "{value}"}}'))
    assert problem in str(error)
    assert f"{KEY}{key}" in str(error)


def test_of_a_pod_that_runs_it_matters_to_nobody() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 4}}"
    running = pod(metadata=f'labels: {{"{KEY}exclusive": "maybe"}}', spec="nodeName: n1")
    assert jobs(node, running)["shop/web"].job.template.project == "shop"


@pytest.mark.parametrize(("kind", "is_of_it"), [("DaemonSet", True), ("Node", True), ("ReplicaSet", False)])
def test_what_is_made_for_a_node_belongs_to_it(kind: str, is_of_it: bool) -> None:
    spec = task_spec(metadata=f"ownerReferences: [{{kind: {kind}, name: x}}]")
    assert spec.of_its_node is is_of_it
    assert spec.requests == Resources()
