"""A decision carried out: room made where others are in the way, volumes asked for, and all pods bound.

    victims deleted, and gone ─► claims have volumes ─► bound, all at the same time
                                                          └─► not bound: forgotten after a pause

A pod is bound once: whoever can't tell whether it was looks before trying again. What is forgotten is decided
about anew, and a gang that was bound in part is completed so, or undone.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from time import perf_counter
from typing import Any, Protocol, TypeVar

import structlog
from msgspec import Struct

from rota.kube.api.errors import Conflict, KubeError, NotFound, Withheld
from rota.kube.api.resources import PODS, Resource
from rota.kube.mirror.dependents import is_over
from rota.kube.mirror.mirror import NO_DEVICES, Mirror
from rota.kube.scheduling.decision_log import DecisionLog
from rota.kube.scheduling.event_recorder import EventRecorder, waiting_condition
from rota.kube.scheduling.pod_figures import PodFigures
from rota.kube.volumes.binding import VolumeBinder, VolumesLost
from rota.kube_objects.gpus import GPU_DEVICE
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.plan import Scored
from rota.patience.backoff import Backoff

T = TypeVar("T", bound=KubeObject)

ATTEMPTS = 6
PAUSES = Backoff(0.1, 5.0)
FORGOTTEN_AFTER_S = 1.0
"""A pod that couldn't be bound keeps its room for so long: it isn't tried again at once."""

log = structlog.get_logger()


class Api(Protocol):
    """Of a client, what carrying out takes."""

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T: ...

    async def patch(self, resource: Resource[T], name: str, change: Any, namespace: str = "") -> T: ...

    async def patch_status(
        self, resource: Resource[T], name: str, change: Any, namespace: str = ""
    ) -> None: ...

    async def delete(
        self, resource: Resource[T], name: str, namespace: str = "", *, uid: str | None = None
    ) -> None: ...

    async def bind(
        self,
        namespace: str,
        pod: str,
        node: str,
        *,
        uid: str = "",
        annotations: dict[str, str] | None = None,
    ) -> None: ...

    async def evict(self, namespace: str, pod: str, *, uid: str | None = None) -> None: ...


class Placing(Struct, frozen=True):
    """What was decided for one job."""

    job: JobId
    nodes: Mapping[TaskName, NodeName]
    victims: tuple[TaskName, ...] = ()
    """Pods that must be gone before."""
    why: Mapping[TaskName, str] = {}
    """Of those that others go for: why there was no room before."""
    scored: Scored | None = None
    decided_s: float = 0.0
    """How long it took to decide."""
    devices: Mapping[TaskName, tuple[int, ...]] = NO_DEVICES
    """Of pods that get a share of a GPU: of which."""


class BindResult(Enum):
    BOUND = "bound"
    GONE = "gone"
    """The pod, or another scheduler has bound it, or its node isn't there any more; or we no longer lead."""
    FAILED = "failed"


class Binder:
    def __init__(
        self,
        client: Api,
        mirror: Mirror,
        recorder: EventRecorder,
        leads: Callable[[], bool],
        wake: Callable[[], None],
        figures: PodFigures | None = None,
    ) -> None:
        """`leads` is asked before each step; `wake` is called when there is something to decide again."""
        self._figures = figures
        self._client = client
        self._mirror = mirror
        self._recorder = recorder
        self._leads = leads
        self._wake = wake
        self._volumes = VolumeBinder(client, mirror.pod_context.volumes, mirror.until)
        self._clearing: dict[JobId, asyncio.Task[None]] = {}
        """Who waits for others to be gone, and hasn't begun to bind."""
        self.decisions = DecisionLog()
        self.on_bound: Callable[[JobId, Mapping[TaskName, NodeName]], None] = lambda job, nodes: None
        """Called with what was bound of a job, once the API server has it."""
        self.bound = 0
        self.failed = 0

    def withdraw(self, job: JobId) -> bool:
        """Somebody else gets its room, if it hasn't begun to bind; False: it has."""
        task = self._clearing.pop(job, None)
        return task is not None and task.cancel()

    async def carry_out(self, placing: Placing) -> None:
        """Its pods are assumed already."""
        unbound = set(placing.nodes)
        failed: set[TaskName] = set()
        began_s = perf_counter()
        try:
            if placing.victims:
                await self._make_room(placing)
            # Those who have to end first may take long, and that is not for want of a decision.
            since_s = perf_counter() - placing.decided_s
            outcomes = await asyncio.gather(
                *(
                    self._place(name, node, since_s, placing.devices.get(name, ()))
                    for name, node in placing.nodes.items()
                )
            )
            for name, outcome in zip(placing.nodes, outcomes, strict=True):
                if outcome is BindResult.BOUND:
                    unbound.discard(name)
                elif outcome is BindResult.FAILED:
                    failed.add(name)
            bound = {name: node for name, node in placing.nodes.items() if name not in unbound}
            if bound:
                self.decisions.bound(placing.job, bound, perf_counter() - began_s, placing.scored)
                self.on_bound(placing.job, bound)
        except (KubeError, TimeoutError) as error:
            log.warning("kube.placement_failed", job=placing.job, why=str(error))
            failed = set(unbound)
        finally:
            self._clearing.pop(placing.job, None)
            self._forget(unbound - failed)
            self.failed += len(failed)
            if self._figures is not None:
                for name in failed:
                    self._figures.failed(name, placing.decided_s + perf_counter() - began_s)
        if failed:
            await asyncio.sleep(FORGOTTEN_AFTER_S)
            self._forget(failed)

    async def undo(self, job: JobId, names: tuple[TaskName, ...]) -> None:
        """Evicts what was bound of a gang that can't be completed: it is to wait as a whole."""
        log.warning("kube.gang_undone", job=job, pods=len(names))
        for name in names:
            pod = self._mirror.pod(name)
            if pod is None or not self._leads():
                continue
            note = f"Evicted: {job} couldn't start as a whole, and waits without holding nodes"
            try:
                await self._client.evict(namespace_of(pod.metadata), pod.metadata.name or "", uid=_uid(pod))
            except (NotFound, Conflict):
                continue
            except KubeError as error:
                log.warning("kube.eviction_failed", pod=name, why=str(error))
                continue
            self._recorder.event(pod, "Warning", "GangUndone", "Preempting", note)

    def _forget(self, names: set[TaskName]) -> None:
        if names:
            self._mirror.forget(names)
            self._wake()

    # -- room and volumes

    async def _make_room(self, placing: Placing) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clearing[placing.job] = task
        victims = {name: pod.metadata.uid for name in placing.victims if (pod := self._mirror.pod(name))}
        nodes = sorted(set(placing.nodes.values()))
        self.decisions.preempted(placing.job, NodeName(", ".join(nodes)), tuple(victims))
        await asyncio.gather(
            *(self._nominate(name, node, placing.why.get(name, "")) for name, node in placing.nodes.items()),
            *(self._delete(name, placing.job) for name in victims),
        )

        def is_settled() -> bool:
            remaining = (self._mirror.pod(name) for name in victims)
            others = (pod for pod in remaining if pod is not None and pod.metadata.uid in victims.values())
            is_wanted = any(self._mirror.pod(name) is not None for name in placing.nodes)
            return not is_wanted or all(is_over(pod) for pod in others)

        await self._mirror.until(is_settled)
        self._clearing.pop(placing.job, None)

    async def _nominate(self, name: TaskName, node: NodeName, why: str) -> None:
        """Users see where it will go, and why not at once; and another leader knows for whom room is being
        made."""
        pod = self._mirror.pod(name)
        if pod is None:
            return
        status: dict[str, Any] = {"nominatedNodeName": node}
        if why:
            status["conditions"] = [waiting_condition(pod, why)]
        with suppress(NotFound, Conflict):
            change = {"metadata": {"uid": pod.metadata.uid}, "status": status}
            await self._client.patch_status(PODS, pod.metadata.name or "", change, namespace_of(pod.metadata))
            if why:
                self._recorder.event(pod, "Warning", "FailedScheduling", "Scheduling", why)

    async def _delete(self, name: TaskName, preemptor: JobId) -> None:
        pod = self._mirror.pod(name)
        if pod is None or pod.metadata.deletion_timestamp is not None or not self._leads():
            return
        note = f"Preempted by {preemptor} on node {pod.spec.node_name}"
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": note,
        }
        metadata, namespace = pod.metadata, namespace_of(pod.metadata)
        change = {"metadata": {"uid": metadata.uid}, "status": {"conditions": [condition]}}
        with suppress(NotFound, Conflict):
            await self._client.patch_status(PODS, metadata.name or "", change, namespace)
            await self._client.delete(PODS, metadata.name or "", namespace, uid=_uid(pod))
            self._recorder.event(pod, "Normal", "Preempted", "Preempting", note)
            log.info("kube.pod_preempted", pod=name, preemptor=preemptor, node=pod.spec.node_name)

    # -- binding

    async def _place(
        self, name: TaskName, node: NodeName, since_s: float, devices: tuple[int, ...]
    ) -> BindResult:
        pod = self._mirror.pod(name)
        if pod is None:
            return BindResult.GONE
        if pod.spec.volumes:
            try:
                await self._volumes.provide(name, pod)
            except (KubeError, VolumesLost, TimeoutError) as error:
                log.warning("kube.volumes_unbound", pod=name, why=str(error) or "not in time")
                return BindResult.FAILED
        outcome = await self._bind(name, pod, node, devices)
        if outcome is BindResult.BOUND:
            self.bound += 1
            if self._figures is not None:
                self._figures.bound(name, pod, perf_counter() - since_s)
            self._recorder.scheduled(pod, node)
        return outcome

    async def _bind(self, name: TaskName, pod: Pod, node: NodeName, devices: tuple[int, ...]) -> BindResult:
        namespace, short_name = namespace_of(pod.metadata), pod.metadata.name or ""
        given = {GPU_DEVICE: ",".join(map(str, devices))}
        is_unsure = False
        for attempt in range(1, ATTEMPTS + 1):
            if not self._mirror.has_node(node) or not self._leads():
                return BindResult.GONE
            try:
                if is_unsure:
                    seen = await self._look(pod, node)
                    if seen is not None:
                        return seen
                    is_unsure = False
                if devices:
                    await self._client.bind(namespace, short_name, node, uid=_uid(pod), annotations=given)
                else:
                    await self._client.bind(namespace, short_name, node, uid=_uid(pod))
                return BindResult.BOUND
            except (NotFound, Withheld):
                return BindResult.GONE
            except KubeError as error:
                is_unsure = is_unsure or error.may_have_happened or isinstance(error, Conflict)
                log.info("kube.binding_retried", pod=name, node=node, attempt=attempt, why=str(error))
                if not (error.may_pass or is_unsure):
                    note = f"can't be bound to {node}: {error}"
                    self._recorder.event(pod, "Warning", "FailedScheduling", "Binding", note)
                    return BindResult.FAILED
            await asyncio.sleep(PAUSES.pause_s(attempt, random.random()))
        return BindResult.FAILED

    async def _look(self, pod: Pod, node: NodeName) -> BindResult | None:
        """What became of it; None: it can still be bound."""
        found = await self._client.get(PODS, pod.metadata.name or "", namespace_of(pod.metadata))
        if found.metadata.uid != pod.metadata.uid or found.metadata.deletion_timestamp is not None:
            return BindResult.GONE
        if not found.spec.node_name:
            return None
        return BindResult.BOUND if found.spec.node_name == node else BindResult.GONE


def _uid(pod: Pod) -> str:
    return pod.metadata.uid or ""
