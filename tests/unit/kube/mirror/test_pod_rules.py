"""A namespace can't take what is due to others by writing a label."""

from __future__ import annotations

from typing import Any

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.policies import policy_from
from rota.kube.mirror.mirror import Mirror
from rota.kube.mirror.reasons import NotAllowed, Wish
from rota.kube.scheduling.words import held_text
from rota.kube_objects.pods import DEFAULT_GANG_KEYS
from rota.model.ids import JobId, TaskName
from rota.model.policy import Policy
from tests.unit.kube.pods import SCHEDULER, labelled, node, pod

pytestmark = pytest.mark.covers("kube-11")

P = TaskName("default/p")
KEY = "batch.scheduling.k8s.io/"


def policy(text: str) -> Policy:
    (document,) = parse_documents(text.encode(), "policy.yaml")
    return policy_from(document)


def mirror(text: str = "{}", **more: Any) -> Mirror:
    told = Mirror(SCHEDULER, DEFAULT_GANG_KEYS, lambda: None, policy(text), **more)
    told.node_changed(None, node("n"))
    return told


def hold(policy_text: str, **said: str) -> NotAllowed | None:
    told = mirror(policy_text)
    told.pod_changed(None, labelled(pod("p"), {f"{KEY}{key}": value for key, value in said.items()}))
    told.settle(0.0)
    found = told.holds.get(P)
    assert found is None or isinstance(found, NotAllowed)
    assert told.state.is_waiting(JobId(P)) is (found is None)
    return found


QUEUES = "queues: [{name: default}, {name: nightly}]\n"


@pytest.mark.parametrize(
    ("text", "said", "wish"),
    [
        ("{}", {"project": "default", "user": "ada", "queue": "default", "exclusive": "false"}, None),
        ("{}", {"project": "vision"}, Wish.PROJECT),
        ("tenants: {vision: {weight: 2}}", {"project": "vision"}, Wish.PROJECT),
        ("tenants: {vision: {namespaces: [another]}}", {"project": "vision"}, Wish.PROJECT),
        ("tenants: {vision: {namespaces: [default]}}", {"project": "vision"}, None),
        ("{}", {"queue": "nightly"}, Wish.UNKNOWN_QUEUE),
        (QUEUES, {"queue": "nightly"}, Wish.QUEUE),
        (QUEUES + "limits: {projects: {default: {queues: [nightly]}}}", {"queue": "nightly"}, None),
        (QUEUES + "limits: {default: {queues: ['*']}}", {"queue": "nightly"}, None),
        ("{}", {"exclusive": "true"}, Wish.EXCLUSIVE),
        ("limits: {projects: {default: {exclusive: true}}}", {"exclusive": "true"}, None),
        ("limits: {projects: {default: {exclusive: false}}}", {"exclusive": "true"}, Wish.EXCLUSIVE),
        ("queues: [{strategy: fair, tenant_key: user}]", {"user": "ada"}, Wish.USER),
        (
            "queues: [{strategy: fair, tenant_key: user}]\ntenants: {default: {users: {ada: {}}}}",
            {"user": "ada"},
            None,
        ),
    ],
)
def test_what_a_namespace_may_say(text: str, said: dict[str, str], wish: Wish | None) -> None:
    found = hold(text, **said)
    assert (found and found.wish) == wish


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ({"project": "vision"}, "tenants.vision.namespaces"),
        ({"queue": "nightly"}, "the policy has no queue of that name"),
        ({"exclusive": "true"}, "limits.projects.default.exclusive"),
    ],
)
def test_whoever_is_refused_reads_why_and_what_would_help(said: dict[str, str], remedy: str) -> None:
    found = hold("{}", **said)
    assert found is not None
    text = held_text(found, 1)
    assert f"{KEY}{next(iter(said))}" in text
    assert "the namespace default may not" in text
    assert remedy in text


def test_a_pod_that_runs_counts_for_its_namespace_whatever_it_says() -> None:
    told = mirror()
    said = {f"{KEY}project": "vision", f"{KEY}exclusive": "true"}
    told.pod_changed(None, labelled(pod("p", node="n", scheduler="another"), said))
    told.settle(0.0)
    template = told.state.record(JobId(P)).job.template
    assert template.project == "default"
    assert not template.groups[0].spec.exclusive
    assert not told.holds


def test_a_node_for_itself_beside_what_belongs_to_the_node() -> None:
    told = mirror("limits: {default: {exclusive: true}}")
    daemon = pod("daemon", node="n", cpu="100m", scheduler="another", owner="DaemonSet")
    told.pod_changed(None, daemon)
    told.pod_changed(None, labelled(pod("p"), {f"{KEY}exclusive": "true"}))
    told.settle(0.0)
    snapshot = told.state.snapshot()
    spec = snapshot.jobs[JobId(P)].job.template.groups[0].spec
    assert (snapshot.demand(spec).need <= snapshot.free[:, 0]).all()
