"""Pods and nodes as an API server would show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from rota.kube.mirror.mirror import Mirror
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import DEFAULT_GANG_KEYS

SCHEDULER = "batch-scheduler"
_BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


def pod(
    name: str,
    *,
    cpu: str = "1",
    gang: str = "",
    least: str = "",
    node: str = "",
    phase: str = "Pending",
    scheduler: str = SCHEDULER,
    created_s: int = 0,
    began_s: int | None = None,
    is_ending: bool = False,
    nominated: str = "",
    owner: str = "",
    **spec: Any,
) -> Pod:
    keys = DEFAULT_GANG_KEYS
    body = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": _at(created_s),
            "deletionTimestamp": _at(created_s + 1) if is_ending else None,
            "labels": {keys.label: gang} if gang else {},
            "annotations": {keys.annotation: least} if least else {},
            "ownerReferences": [{"kind": owner, "name": "x"}] if owner else None,
        },
        "spec": {
            "schedulerName": scheduler,
            "nodeName": node or None,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
        "status": {
            "phase": phase,
            "startTime": None if began_s is None else _at(began_s),
            "nominatedNodeName": nominated or None,
        },
    }
    return msgspec.convert(body, Pod)


def labelled(made: Pod, labels: dict[str, str]) -> Pod:
    metadata = made.metadata
    return replace(made, metadata=replace(metadata, labels={**(metadata.labels or {}), **labels}))


def node(
    name: str,
    cpu: str = "2",
    taints: list[dict[str, str]] | None = None,
    is_cordoned: bool = False,
    **labels: str,
) -> Node:
    body = {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints, "unschedulable": is_cordoned},
        "status": {"allocatable": {"cpu": cpu, "memory": "1Gi", "pods": "10"}},
    }
    return msgspec.convert(body, Node)


def _at(seconds: int) -> str:
    return (_BEGINNING + timedelta(seconds=seconds)).isoformat()


class Told:
    """A mirror, and how often it said that something has changed."""

    def __init__(self) -> None:
        self.times = 0
        self.mirror = Mirror(SCHEDULER, DEFAULT_GANG_KEYS, self._count)

    def _count(self) -> None:
        self.times += 1

    def add(self, *pods: Pod) -> None:
        for one in pods:
            self.mirror.pod_changed(None, one)
