from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from rota.backends.kubernetes.nodes import ForeignUse, less, node_of
from rota.kube_objects.objects.nodes import Node as KubeNode
from rota.kube_objects.objects.pods import Pod
from rota.model.containers import IMAGE_NEEDED, RUNS_IMAGES
from rota.model.node import Gpus
from rota.model.resources import Resources
from tests.unit.backends.kubernetes.starts import OPTIONS

pytestmark = pytest.mark.covers("back-3")

GI = 1 << 30
OURS = {"act.nektos.com/backend": "kubernetes", "act.nektos.com/instance": "rota"}


def kube_node(ready: str = "True", **fields: Any) -> KubeNode:
    document = {
        "metadata": {"name": "n1", "labels": {"zone": "a", "nvidia.com/gpu.product": "A100"}},
        "spec": fields,
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "2"},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }
    return msgspec.convert(document, KubeNode)


def kube_pod(name: str = "p", labels: dict[str, str] | None = None, **status: Any) -> Pod:
    document = {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "nodeName": "n1",
            "overhead": {"memory": "1Gi"},
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "nvidia.com/gpu": "1"}}}],
        },
        "status": status,
    }
    return msgspec.convert(document, Pod)


def test_a_node_as_rota_sees_it() -> None:
    taken = Resources(500, GI, slots=1, extended=(("nvidia.com/gpu", 1),))
    node = node_of(kube_node(), "east", OPTIONS, taken, 120_000)
    assert node is not None
    assert (node.name, node.ready) == ("n1", True)
    spec = node.spec
    assert (spec.backend, spec.price_micro_per_hour) == ("east", 120_000)
    assert spec.capacity == Resources(3500, 7 * GI, slots=9)
    assert spec.gpus == Gpus(1, "A100")
    assert spec.labels == (("nvidia.com/gpu.product", "A100"), RUNS_IMAGES, ("zone", "a"))
    assert spec.taints == (IMAGE_NEEDED,)


def test_with_an_image_for_those_that_name_none_it_takes_them() -> None:
    node = node_of(kube_node(), "east", replace(OPTIONS, default_image="i"), Resources())
    assert node is not None
    assert node.spec.taints == ()


def test_a_silent_node_takes_nothing_and_evicts_nothing() -> None:
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    node = node_of(kube_node("Unknown", taints=[taint]), "east", OPTIONS, Resources())
    assert node is not None
    assert not node.ready
    assert node.spec.taints == (IMAGE_NEEDED,)


def test_only_nodes_with_the_labels_that_were_asked_for() -> None:
    for value, is_there in (("a", True), ("b", False)):
        options = replace(OPTIONS, node_labels=(("zone", value),))
        assert (node_of(kube_node(), "east", options, Resources()) is not None) is is_there


def test_what_others_take_is_counted_as_it_changes() -> None:
    changes: list[None] = []
    use = ForeignUse("rota", lambda: changes.append(None))
    pod, ended = kube_pod(phase="Running"), kube_pod(phase="Succeeded")
    use.changed(None, pod)
    taken = Resources(500, GI, slots=1, extended=(("nvidia.com/gpu", 1),))
    assert use.of("n1") == taken
    use.changed(pod, pod)
    assert len(changes) == 1
    use.changed(None, kube_pod("other"))
    assert use.of("n1") == taken.plus(taken)
    use.changed(pod, ended)
    use.changed(ended, None)
    assert use.of("n1") == taken
    use.changed(kube_pod("other"), None)
    assert use.of("n1") == use.of("n2") == Resources()


def test_our_own_are_not() -> None:
    use = ForeignUse("rota", lambda: None)
    use.changed(None, kube_pod(labels=OURS))
    assert use.of("n1") == Resources()
    use.changed(None, kube_pod(labels={**OURS, "act.nektos.com/instance": "other"}))
    assert use.of("n1").slots == 1


def test_a_node_that_is_fuller_than_it_says_has_nothing_left() -> None:
    assert less(Resources(1, 1, 1, 1), Resources(2, 2, 2, 2)) == Resources()
