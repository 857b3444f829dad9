"""DaemonSets: one pod for each node that they are for, there and nowhere else."""

import pytest

from rota.engine.decide import decide
from rota.engine.plugin import Plugins
from rota.model.policy import Policy
from rota.plugins import FILTERS, NAMED, SCORES
from rota.snapshot import snapshot_of
from tests.unit.kube_objects.controllers.objects import TEMPLATE, made_by, workload
from tests.unit.kube_objects.reading import jobs, node, read

pytestmark = pytest.mark.covers("first-5")
NODES = (
    node("n1"),
    node("n2", spec="taints: [{key: gpu, effect: NoSchedule}]"),
    node("n3", spec="unschedulable: true"),
    node("n4").replace("{name: n4}", "{name: n4, labels: {disk: ssd}}"),
)


def daemons(template: str = TEMPLATE, *others: str) -> list[str]:
    manifest = workload("apps/v1", "DaemonSet", f"template: {template}", name="agent")
    return sorted(name for name in jobs(manifest, *NODES, *others) if name.startswith("ml/agent-n"))


def test_on_nodes_whose_taints_it_tolerates_cordoned_ones_included() -> None:
    assert daemons() == ["ml/agent-n1", "ml/agent-n3", "ml/agent-n4"]
    tolerant = TEMPLATE.replace("spec: {", "spec: {tolerations: [{operator: Exists}], ", 1)
    assert daemons(tolerant) == ["ml/agent-n1", "ml/agent-n2", "ml/agent-n3", "ml/agent-n4"]


def test_on_nodes_that_it_selects() -> None:
    assert daemons(TEMPLATE.replace("spec: {", "spec: {nodeSelector: {disk: ssd}, ", 1)) == ["ml/agent-n4"]
    affinity = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:"
        " [{matchExpressions: [{key: disk, operator: DoesNotExist}]}]}}}"
    )
    assert daemons(TEMPLATE.replace("spec: {", f"spec: {{{affinity}, ", 1)) == ["ml/agent-n1", "ml/agent-n3"]


def test_not_where_one_is_already() -> None:
    assert daemons(TEMPLATE, made_by("DaemonSet agent", "agent-x", node="n1")) == [
        "ml/agent-n3",
        "ml/agent-n4",
    ]


def test_each_goes_to_its_own_node() -> None:
    manifest = workload("apps/v1", "DaemonSet", f"template: {TEMPLATE}", name="agent")
    records = read(manifest, *NODES).records
    plan = decide(snapshot_of(records), Policy(), 0, Plugins(FILTERS, SCORES, NAMED))
    assert {one.job: one.node for one in plan.bindings} == {
        "ml/agent-n1": "n1",
        "ml/agent-n3": "n3",
        "ml/agent-n4": "n4",
    }
