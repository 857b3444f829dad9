"""Nodes are counted as kube-scheduler counts them: by the first rule that refuses, in its order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rota.engine.decide import decide
from rota.engine.plugin import Plugins, RefusalOrder
from rota.kube.scheduling.filters import KUBE_FILTERS
from rota.kube.scheduling.run import default_policy
from rota.kube.scheduling.words import waiting_texts
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.taints import UNSCHEDULABLE
from rota.model.ids import JobId
from rota.model.taints import tolerated
from rota.plugins.taints import Tolerate
from tests.unit.kube.pods import SCHEDULER, Told, node, pod

pytestmark = pytest.mark.covers("kube-3", "kube-7")

TAINTED = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
UNEVEN = "1 node(s) didn't match pod topology spread constraints"
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def reasons(nodes: Sequence[Node], one: Pod, *others: Pod) -> list[str]:
    """Of the nodes, without what is said of preemption; none: it isn't refused."""
    told = Told()
    for here in nodes:
        told.mirror.node_changed(None, here)
    told.add(one, *others)
    told.mirror.settle(0.0)
    plugins = Plugins(KUBE_FILTERS, refusal_order=RefusalOrder.AS_ASKED)
    plan = decide(told.mirror.state.snapshot(), default_policy(SCHEDULER), 0, plugins)
    texts = {name: text for _, name, text in waiting_texts(plan, told.mirror)}
    text = texts.get(f"default/{one.metadata.name}")  # type: ignore[call-overload]
    return [] if text is None else text.split(". preemption")[0].split(": ", 1)[1].split(", ")


def test_who_fits_is_not_refused() -> None:
    assert reasons([node("a")], pod("p")) == []


def test_all_amounts_that_a_node_lacks() -> None:
    large = pod("p", cpu="3", overhead={"memory": "2Gi"})
    assert reasons([node("a"), node("b", cpu="4")], large) == ["1 Insufficient cpu", "2 Insufficient memory"]


def test_taints_come_before_selectors_and_these_before_amounts() -> None:
    nodes = [node("a", taints=TAINTED), node("b"), node("c", disk="ssd")]
    assert reasons(nodes, pod("p", cpu="9", nodeSelector={"disk": "ssd"})) == [
        "1 Insufficient cpu",
        "1 node(s) didn't match Pod's node affinity/selector",
        "1 node(s) had untolerated taint {k: v}",
    ]


@pytest.mark.parametrize("also", [[], [CORDONED]])
def test_cordons_come_before_taints_unless_tolerated(also: list[dict[str, str]]) -> None:
    nodes = [node("a", taints=[*TAINTED, *also], is_cordoned=True)]
    assert reasons(nodes, pod("p")) == ["1 node(s) were unschedulable"]
    tolerations = [{"key": CORDONED["key"], "operator": "Exists"}]
    assert reasons(nodes, pod("p", tolerations=tolerations)) == ["1 node(s) had untolerated taint {k: v}"]


def test_to_tolerate_a_cordon_would_help() -> None:
    told = Told()
    told.mirror.node_changed(None, node("a", is_cordoned=True))
    told.add(pod("p"))
    told.mirror.settle(0.0)
    snapshot = told.mirror.state.snapshot()
    template = snapshot.jobs[JobId("default/p")].job.template
    offered = [one for kind in KUBE_FILTERS for one in kind.loosenings(template, snapshot.nodes)]
    assert [one.change for one in offered] == [Tolerate((UNSCHEDULABLE,))]
    [toleration] = offered[0].template.groups[0].spec.tolerations
    assert tolerated(UNSCHEDULABLE, (toleration,))


def test_the_taint_of_a_cordon_by_itself_is_a_taint() -> None:
    assert reasons([node("a", taints=[CORDONED])], pod("p")) == [
        "1 node(s) had untolerated taint {node.kubernetes.io/unschedulable: }"
    ]


@pytest.mark.parametrize(
    ("taints", "told"), [([], ["1 node(s) were unschedulable", UNEVEN]), ([CORDONED], [])]
)
def test_a_spread_that_honours_taints_counts_cordoned_nodes_without_the_taint(
    taints: list[dict[str, str]], told: list[str]
) -> None:
    rule = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]},
        "nodeTaintsPolicy": "Honor",
    }
    nodes = [node("a", zone="a"), node("b", taints=taints, is_cordoned=True, zone="b")]
    assert reasons(nodes, pod("p", topologySpreadConstraints=[rule]), pod("q", node="a")) == sorted(told)


def test_taints_that_only_advise_refuse_nobody() -> None:
    advice = {"key": "k", "effect": "PreferNoSchedule"}
    assert reasons([node("a", taints=[advice])], pod("p")) == []


def test_nodes_that_arent_named_are_asked_nothing_else() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    nodes = [node("a", taints=TAINTED), node("b", taints=TAINTED)]
    assert reasons(nodes, pod("p", affinity=affinity)) == [
        "1 node(s) didn't satisfy plugin(s) [NodeAffinity]",
        "1 node(s) had untolerated taint {k: v}",
    ]


def named(*names: str) -> dict[str, list[dict[str, object]]]:
    """A term of a node affinity that asks for every one of these names."""
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


def on_terms(*terms: dict[str, list[dict[str, object]]]) -> dict[str, object]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": required}


def test_beside_a_term_without_conditions_all_nodes_are_asked() -> None:
    """It holds nowhere, but it names no node either."""
    nodes = [node("a", taints=TAINTED), node("b")]
    assert reasons(nodes, pod("p", affinity=on_terms({}, named("c")))) == [
        "1 node(s) didn't match Pod's node affinity/selector",
        "1 node(s) had untolerated taint {k: v}",
    ]
    assert reasons(nodes, pod("p", affinity=on_terms({}))) == [
        "1 node(s) didn't match Pod's node affinity/selector",
        "1 node(s) had untolerated taint {k: v}",
    ]


def test_terms_that_name_nobody_conflict() -> None:
    nodes = [node("a"), node("b")]
    assert reasons(nodes, pod("p", affinity=on_terms(named("a", "b")))) == ["pod affinity terms conflict"]
    assert reasons(nodes, pod("p", affinity=on_terms(named("a", "b"), named("b")))) == []


def test_names_that_conflict_are_told_before_claims_that_are_missing() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]
    lost = pod("p", affinity=on_terms(named("a", "b")), volumes=volumes)
    assert reasons([node("a"), node("b")], lost) == ["pod affinity terms conflict"]


def test_ports_come_before_amounts() -> None:
    container = {"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}
    taken = pod("q", node="a", containers=[container])
    busy = {**container, "resources": {"requests": {"cpu": "9"}}}
    assert reasons([node("a")], pod("p", containers=[busy]), taken) == [
        "1 node(s) didn't have free ports for the requested pod ports"
    ]
