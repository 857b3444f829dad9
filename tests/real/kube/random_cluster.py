"""Clusters and pods by chance, over all that kube-scheduler looks at; the same for the same seed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tests.real.kube.overbooking import part_ports, within_capacity
from tests.real.kube.random_rules import (
    APPS,
    DISKS,
    NAMESPACES,
    REQUIRED,
    VERSIONS,
    ZONES,
    host_ports,
    node_terms,
    pod_terms,
    spreads,
    toleration,
)
from tests.real.kube.random_volumes import (
    ALONE,
    HOST,
    ZONE,
    PodStorage,
    Storage,
    limits,
    mount,
    running_storage,
    space,
    waiting_storage,
)

TAINTS = (
    {"key": "team", "value": "red", "effect": "NoSchedule"},
    {"key": "team", "value": "blue", "effect": "NoExecute"},
    {"key": "gpu", "effect": "NoSchedule"},
    {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"},
)
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class RandomPod(Struct, frozen=True):
    body: dict[str, Any]
    storage: Storage = Storage()
    namespace: str = ""
    """Empty: that of the pods that wait."""
    phase: str = ""
    """How it has ended; empty: it hasn't."""
    is_ending: bool = False
    """Told to end, and kept by a finalizer."""
    started: str = ""
    """Of those that run, each at another time: who is more important would be chance otherwise."""

    @property
    def name(self) -> str:
        name: str = self.body["metadata"]["name"]
        return name


class RandomCluster(Struct, frozen=True):
    nodes: list[dict[str, Any]]
    running: list[RandomPod]
    pods: list[RandomPod]
    limits: list[dict[str, Any]]
    """CSINodes."""
    spaces: list[dict[str, Any]]
    """CSIStorageCapacities."""
    budgets: list[dict[str, Any]]
    """PodDisruptionBudgets, with how much they allow: no controller is there to change it."""


HEAVY = "heavy"
"""The runtime class of pods that come with an overhead."""
HEAVY_RUNTIME = {"metadata": {"name": HEAVY}, "handler": HEAVY, "overhead": {"podFixed": {"cpu": "250m"}}}
PRIORITIES = {"high": 1000, "middle": 10, "modest": 7, "low": -1000}
NEVER = "never"
"""A priority class whose pods preempt nobody."""
_CROWD = ("", "", "low", "low", "modest", "middle", "middle", "high")
"""Of pods that run where many are in each other's way."""
FINALIZER = "test.example/keeps-it"
GRACE = {"terminationGracePeriodSeconds": 0}
"""Nobody is there to end them."""


def random_cluster(seed: int, pods: int = 10, *, may_overbook: bool = True) -> RandomCluster:
    """In half of them nodes are full, priorities many, and most pods that wait may preempt others. Nodes may
    hold more than they have, as if their owners had made them smaller, if that `may` be."""
    chance = Random(seed)
    is_crowded = chance.random() < 0.5
    nodes = [_node(chance, f"n{number}", is_crowded=is_crowded) for number in range(chance.randint(2, 7))]
    names = [node["metadata"]["name"] for node in nodes]
    least, most = (2, 6) if is_crowded else (0, 3)
    count = chance.randint(least * len(nodes), most * len(nodes))
    starts = chance.sample(range(100_000), count)
    running = [
        replace(_running(chance, number, names, is_crowded=is_crowded), started=_time(start))
        for number, start in enumerate(starts)
    ]
    part_ports(running)
    if not may_overbook:
        running = within_capacity(nodes, running)
    waiting = []
    for number in range(pods):
        pod = _pod(chance, f"p{number}", names)
        pod["spec"] |= GRACE
        if is_crowded and chance.random() < 0.5:
            # Others are in its way, and little else.
            pod["spec"] |= {"nodeSelector": {}, "tolerations": [{"operator": "Exists"}]}
            pod["spec"].get("affinity", {}).pop("nodeAffinity", None)
        if chance.random() < (0.8 if is_crowded else 0.15):
            pod["spec"]["priorityClassName"] = chance.choice(
                ("high", "high", "middle", "modest", NEVER) if is_crowded else ("high",)
            )
        storage = waiting_storage(chance, names) if chance.random() < (0.2 if is_crowded else 0.5) else None
        storage = storage or PodStorage()
        pod["spec"]["volumes"] = storage.mounts
        waiting.append(RandomPod(pod, storage.storage))
    return RandomCluster(
        nodes,
        running,
        waiting,
        [found for name in names if (found := limits(chance, name)) is not None],
        [found for name in names if (found := space(chance, name)) is not None],
        [_budget(chance, number) for number in range(chance.choice((0, 1, 2)) if is_crowded else 0)],
    )


def _running(chance: Random, number: int, nodes: list[str], *, is_crowded: bool) -> RandomPod:
    pod = _pod(chance, f"runs{number}", is_small=True)
    pod["spec"] |= {"nodeName": chance.choice(nodes), **GRACE}
    if is_crowded:
        if name := chance.choice(_CROWD):
            pod["spec"]["priorityClassName"] = name
    elif chance.random() < 0.3:
        pod["spec"]["priorityClassName"] = "low"
    if chance.random() < (0.1 if is_crowded else 0.3):
        return _elsewhere(chance, pod)
    storage = running_storage(chance, f"runs{number}")
    if number == 0 and chance.random() < 0.5:
        storage = PodStorage([mount(ALONE)])
    pod["spec"]["volumes"] = storage.mounts
    return RandomPod(pod, storage.storage)


def _time(minutes: int) -> str:
    return (datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _budget(chance: Random, number: int) -> dict[str, Any]:
    labels = chance.choice(({"app": chance.choice(APPS)}, {"version": chance.choice(VERSIONS)}, {}))
    return {
        "metadata": {"name": f"budget{number}"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": chance.choice((0, 0, 1, 2))},
    }


def _elsewhere(chance: Random, pod: dict[str, Any]) -> RandomPod:
    """In another namespace, or ended, or ending. Those that are ending have the highest priority:
    kube-scheduler would have others end once more, and ours leaves them alone."""
    kind = chance.choice(("namespace", "ended", "ending"))
    if kind == "namespace":
        return RandomPod(pod, namespace=chance.choice(sorted(NAMESPACES)))
    if kind == "ended":
        return RandomPod(pod, phase=chance.choice(("Succeeded", "Failed")))
    pod["metadata"]["finalizers"] = [FINALIZER]
    pod["spec"]["priorityClassName"] = "high"
    return RandomPod(pod, is_ending=True)


def only_on(node: str) -> str:
    """A resource that this node alone has."""
    return f"example.com/only-on-{node}"


def _node(chance: Random, name: str, *, is_crowded: bool = False) -> dict[str, Any]:
    labels = {HOST: name}
    if chance.random() < 0.85:
        labels[ZONE] = chance.choice(ZONES)
    if chance.random() < 0.7:
        labels["disk"] = chance.choice(DISKS)
    if chance.random() < 0.4:
        labels["rank"] = chance.choice(("1", "2", "5", "9", "x5", "007"))
    amounts = {
        "cpu": str(chance.randint(1, 4)),
        "memory": f"{chance.randint(1, 4)}Gi",
        "pods": chance.choice(("2", "3", "110", "110")),
        "ephemeral-storage": "10Gi",
        only_on(name): "1",
    }
    if is_crowded:
        amounts |= {"cpu": str(chance.randint(3, 6)), "memory": f"{chance.randint(3, 6)}Gi"}
    if chance.random() < 0.3:
        amounts["example.com/device"] = str(chance.randint(1, 3))
    is_ready = chance.random() < 0.9
    taints = chance.sample(TAINTS, chance.choice((0, 0, 0, 1, 1, 2)))
    is_cordoned = chance.random() < 0.1
    if chance.random() < (0.5 if is_cordoned else 0.02):
        taints.append(CORDON)
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "unschedulable": is_cordoned,
            # What the cluster's controllers make of it.
            "taints": taints if is_ready else [*taints, NOT_READY],
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": str(is_ready), "reason": "KubeletSays"}],
        },
    }


def _pod(  # noqa: C901, PLR0912 – one chance for each field of a pod
    chance: Random, name: str, nodes: list[str] | None = None, *, is_small: bool = False
) -> dict[str, Any]:
    """`nodes`: some that it may ask for by name."""
    requests = {"cpu": f"{chance.choice((0, 100, 500, 500, 1000) if is_small else (100, 900, 2000, 3000))}m"}
    if chance.random() < 0.7:
        requests["memory"] = f"{chance.choice((64, 300, 600) if is_small else (64, 800, 1500, 3000))}Mi"
    if chance.random() < 0.15:
        requests["example.com/device"] = str(chance.randint(1, 2))
    if chance.random() < 0.15:
        requests["ephemeral-storage"] = f"{chance.choice((1, 20))}Gi"
    resources = {"requests": requests}
    if "example.com/device" in requests:
        resources["limits"] = {"example.com/device": requests["example.com/device"]}
    container: dict[str, Any] = {"name": "main", "image": "example.invalid/none", "resources": resources}
    if chance.random() < 0.2:
        container["ports"] = host_ports(chance)
    spec: dict[str, Any] = {"containers": [container]}
    if "ports" not in container and chance.random() < 0.04:
        spec["hostNetwork"] = True
        container["ports"] = [{"containerPort": chance.choice((8080, 9090))}]
    if chance.random() < 0.15:
        spec["initContainers"] = [
            {"name": "init", "image": "x", "resources": {"requests": {"cpu": chance.choice(("50m", "3"))}}}
        ]
    if chance.random() < 0.15:
        sidecar = {
            "name": "sidecar",
            "image": "x",
            "restartPolicy": "Always",
            "resources": {"requests": {"cpu": chance.choice(("50m", "700m"))}},
        }
        at = chance.randint(0, 1)
        spec.setdefault("initContainers", []).insert(at, sidecar)
    if chance.random() < 0.1:
        spec["runtimeClassName"] = HEAVY
    if chance.random() < 0.25:
        spec["nodeSelector"] = {"disk": chance.choice(DISKS)}
    if chance.random() < 0.6:
        spec["tolerations"] = [toleration(chance) for _ in range(chance.randint(1, 2))]
    affinity: dict[str, Any] = {}
    if chance.random() < 0.3:
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": node_terms(chance, nodes)}}
    for kind in ("podAffinity", "podAntiAffinity"):
        if chance.random() < (0.2 if not is_small else 0.1):
            affinity[kind] = {REQUIRED: pod_terms(chance)}
    if affinity:
        spec["affinity"] = affinity
    if chance.random() < 0.3:
        spec["topologySpreadConstraints"] = spreads(chance)
    labels = {"app": chance.choice(APPS), "version": chance.choice(VERSIONS)}
    if chance.random() < 0.4:
        labels["tier"] = chance.choice(("front", "back"))
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}
