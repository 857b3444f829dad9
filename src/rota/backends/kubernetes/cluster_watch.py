"""What is seen of a cluster: its nodes, what others take of them, and our own pods."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog
from msgspec import DecodeError, json
from msgspec.structs import replace

from rota.backends.kubernetes.nodes import ForeignUse, is_ready, node_of
from rota.backends.kubernetes.objects import JOB_PODS, JobPod
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.kubernetes.record import TaskRecord, read
from rota.backends.kubernetes.terms import Terms
from rota.clock import since_boot_ms
from rota.kube.api.client import Selection
from rota.kube.api.informer import Informer, ObjectKey
from rota.kube.api.resources import NODES, PODS
from rota.kube_objects.objects.nodes import Node as KubeNode
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import NodeName
from rota.model.node import Node

log = structlog.get_logger()

_RUNNING_ONES = Selection(fields="spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed")


class ClusterWatch:
    def __init__(
        self,
        calls: PodCalls,
        backend: str,
        known_nodes: Path,
        terms: Terms,
        price_micro_per_hour: int,
        on_pod: Callable[[TaskRecord, JobPod | None], None],
        on_change: Callable[[], None],
    ) -> None:
        """`known_nodes`: a file with the names of those that were there last. `on_pod` is told of each change
        of a task's pod."""
        self._calls = calls
        self._backend = backend
        self._known_nodes = known_nodes
        self._had = _names_in(known_nodes)
        self._terms = terms
        self._price = price_micro_per_hour
        self._on_pod = on_pod
        self._on_change = on_change
        self._nodes: Informer[KubeNode] = Informer(calls.client, NODES)
        self._all_pods: Informer[Pod] = Informer(calls.client, PODS, _RUNNING_ONES)
        self._own_pods: Informer[JobPod] = Informer(calls.client, JOB_PODS, calls.selection)
        self._informers = (self._nodes, self._all_pods, self._own_pods)
        self._foreign = ForeignUse(calls.options.instance, on_change)
        self._silent_since_ms: dict[NodeName, int] = {}
        self._note = ""

    async def run(self) -> None:
        self._nodes.subscribe(self._node_changed)
        self._all_pods.subscribe(self._foreign.changed)
        self._own_pods.subscribe(self._pod_changed)
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                group.create_task(informer.run())

    @property
    def is_synced(self) -> bool:
        return all(informer.has_synced for informer in self._informers)

    async def synced(self, within_s: float | None) -> None:
        """Returns then, too, if it isn't by then."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                for informer in self._informers:
                    await informer.synced.wait()

    @property
    def failure(self) -> str:
        """Why what is known may be out of date; empty: it isn't."""
        failures = [str(informer.failure) for informer in self._informers if informer.failure is not None]
        if not failures and not self.is_synced:
            failures = ["it hasn't answered yet"]
        return failures[0] if failures else ""

    def note(self, problem: str) -> None:
        """Something that works without, told once."""
        if problem != self._note:
            self._note = problem
            log.warning("pod.call_failed", why=problem)

    def nodes(self) -> list[Node]:
        """None, before it is known what others take of them."""
        if not self.is_synced:
            return []
        nodes = [self._as_node(found) for found in self._nodes.objects.values()]
        return [node for node in nodes if node is not None]

    def node(self, name: NodeName) -> Node | None:
        found = self._nodes.objects.get(ObjectKey("", str(name))) if self.is_synced else None
        return None if found is None else self._as_node(found)

    def had(self, name: NodeName) -> bool:
        """Whether it was one of the cluster's, as far as was known last."""
        return str(name) in self._had

    def unready(self) -> list[NodeName]:
        return [NodeName(key.name) for key, node in self._nodes.objects.items() if not is_ready(node)]

    def lost(self) -> list[NodeName]:
        """Nodes that are gone, or were silent for too long. None while the cluster itself is silent."""
        if self.failure:
            return []
        now_ms, had = since_boot_ms(), set(map(NodeName, self._had))
        there = {NodeName(key.name): is_ready(node) for key, node in self._nodes.objects.items()}
        silent = {name for name in had if not there.get(name, False)}
        for name in list(self._silent_since_ms):
            if name not in silent:
                del self._silent_since_ms[name]
        for name in silent:
            self._silent_since_ms.setdefault(name, now_ms)
        return [
            name
            for name, since_ms in self._silent_since_ms.items()
            if name not in there or now_ms - since_ms >= self._terms.lost_after_ms
        ]

    def _as_node(self, found: KubeNode) -> Node | None:
        foreign = self._foreign.of(found.metadata.name or "")
        node = node_of(found, self._backend, self._calls.options, foreign, self._price)
        # A cluster that doesn't answer is left out: nothing could be started there.
        return replace(node, ready=False) if node is not None and self.failure else node

    def _node_changed(self, old: KubeNode | None, new: KubeNode | None) -> None:
        name = new.metadata.name if new is not None else None
        if name and name not in self._had:
            self._had.add(name)
            self._remember()
        self._on_change()

    def _remember(self) -> None:
        unfinished = self._known_nodes.with_suffix(".new")
        unfinished.write_bytes(json.encode(sorted(self._had)))
        unfinished.replace(self._known_nodes)

    def _pod_changed(self, old: JobPod | None, new: JobPod | None) -> None:
        pod = new or old
        record = read(pod.metadata.annotations) if pod is not None else None
        if record is not None:
            self._on_pod(record, new)


def _names_in(file: Path) -> set[str]:
    try:
        return set(json.decode(file.read_bytes(), type=list[str]))
    except (OSError, DecodeError):
        return set()
