"""Writes events and the condition PodScheduled to pods, so that users see what the scheduler does.

Writing never delays decisions. For each pod only the latest condition is written, and each only once. Events
are dropped when more come than the API server accepts.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import structlog
from msgspec import Struct

from rota.kube.api.errors import KubeError, NotFound
from rota.kube.api.objects import ObjectReference
from rota.kube.api.resources import EVENTS, PODS, Resource
from rota.kube.api.work_queue import WorkQueue
from rota.kube_objects.namespaces import name_of, namespace_of
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import NodeName, TaskName
from rota.patience.backoff import Backoff

T = TypeVar("T", bound=KubeObject)

PAUSES = Backoff(10.0, 300.0)
"""Between news of one pod: in a busy cluster reasons change all the time, and users read the latest."""
_CONDITION_WRITERS = 8
_EVENT_SENDERS = 4
"""Few: the API server is to bind pods first."""
_EVENTS_KEPT = 10_000
_LONGEST_NOTE = 1024
_LONGEST_NAME = 230

log = structlog.get_logger()


class Writer(Protocol):
    """Of a client, what telling takes."""

    async def create(self, resource: Resource[T], body: Any, namespace: str = "") -> T: ...

    async def patch_status(
        self, resource: Resource[T], name: str, change: Any, namespace: str = ""
    ) -> None: ...


class _Told(Struct, frozen=True):
    news: str
    times: int
    next_s: float
    """Not before that."""


class EventRecorder:
    def __init__(
        self, client: Writer, pod: Callable[[TaskName], Pod | None], controller: str, instance: str
    ) -> None:
        """`pod`: as it is now; None: it is gone."""
        self._client = client
        self._pod = pod
        self._controller = controller
        self._instance = instance
        self._latest: dict[TaskName, str] = {}
        self._told: dict[TaskName, _Told] = {}
        self._queue: WorkQueue[TaskName] = WorkQueue()
        self._events: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue(_EVENTS_KEPT)
        self.dropped_events = 0

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_EVENT_SENDERS):
                tasks.create_task(self._send_events())
            for _ in range(_CONDITION_WRITERS):
                tasks.create_task(self._tell_waiting())

    # -- news

    def waits(self, name: TaskName, news: str) -> None:
        """Why a pod waits, by the latest decision."""
        if self._latest.get(name) == news:
            return
        self._latest[name] = news
        told = self._told.get(name)
        wait_s = 0.0 if told is None else told.next_s - asyncio.get_running_loop().time()
        if wait_s > 0:
            self._queue.add_after(name, wait_s)
        else:
            self._queue.add(name)

    def forget(self, name: TaskName) -> None:
        """It is gone, or waits no longer."""
        self._latest.pop(name, None)
        self._told.pop(name, None)

    def scheduled(self, pod: Pod, node: NodeName) -> None:
        note = f"Successfully assigned {name_of(pod.metadata)} to {node}"
        self.event(pod, "Normal", "Scheduled", "Binding", note)

    def event(self, pod: Pod, kind: str, reason: str, action: str, note: str) -> None:
        if self._events.full():
            self.dropped_events += 1
            return
        metadata = pod.metadata
        namespace = namespace_of(metadata)
        about = ObjectReference("Pod", metadata.name or "", namespace, metadata.uid or "", "v1")
        name = f"{(metadata.name or '')[:_LONGEST_NAME]}.{uuid.uuid4().hex[:16]}"
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": _now(),
            "type": kind,
            "reason": reason,
            "action": action,
            "note": note[:_LONGEST_NOTE],
            "reportingController": self._controller,
            "reportingInstance": self._instance[:128],
            "regarding": about,
        }
        self._events.put_nowait((namespace, body))

    # -- telling

    async def _send_events(self) -> None:
        while True:
            namespace, body = await self._events.get()
            try:
                await self._client.create(EVENTS, body, namespace)
            except KubeError as error:
                # It may have been made: another try would make a second one.
                log.debug("kube.event_lost", reason=body["reason"], why=str(error))

    async def _tell_waiting(self) -> None:
        while True:
            name = await self._queue.take()
            try:
                await self._tell(name)
            except NotFound:
                self.forget(name)
            except KubeError as error:
                if error.may_pass:
                    self._queue.retry(name)
                    continue
                log.warning("kube.condition_unwritten", pod=name, why=str(error))
            self._queue.done(name)

    async def _tell(self, name: TaskName) -> None:
        pod, news = self._pod(name), self._latest.get(name)
        if pod is None or pod.spec.node_name:
            self.forget(name)
            return
        told = self._told.get(name)
        if news is None or (told is not None and told.news == news):
            return
        metadata = pod.metadata
        status = {"conditions": [waiting_condition(pod, news)]}
        change = {"metadata": {"uid": metadata.uid}, "status": status}
        await self._client.patch_status(PODS, metadata.name or "", change, namespace_of(metadata))
        now = self._pod(name)
        if now is None or now.spec.node_name or now.metadata.uid != metadata.uid:
            # It was forgotten while it was told, and nobody would forget it again.
            return
        times = 1 if told is None else told.times + 1
        next_s = asyncio.get_running_loop().time() + PAUSES.pause_s(times, random.random())
        self._told[name] = _Told(news, times, next_s)
        self.event(pod, "Warning", "FailedScheduling", "Scheduling", news)


def waiting_condition(pod: Pod, why: str) -> dict[str, str]:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
        **({} if _is_said_to_wait(pod) else {"lastTransitionTime": _now_in_seconds()}),
    }


def _is_said_to_wait(pod: Pod) -> bool:
    conditions = (pod.status and pod.status.conditions) or ()
    return any(one.type == "PodScheduled" and one.status == "False" for one in conditions)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _now_in_seconds() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
