"""Pods that the API server let through and that can't be read: whoever made them is told what is wrong.

They are left out of everything else, so nobody is held up by them.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, TypeVar

import structlog

from rota.kube.api.decoding import Unreadable
from rota.kube.api.errors import KubeError, NotFound
from rota.kube.api.resources import Resource
from rota.kube.scheduling.event_recorder import EventRecorder
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import KubeObject, KubeStruct, Metadata
from rota.kube_objects.objects.pods import Pod, PodSpec

T = TypeVar("T", bound=KubeObject)

_MOST = 1000
"""Further ones are told at the next change of them."""

log = structlog.get_logger()


class Reader(Protocol):
    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T: ...


class _WhoseSpec(KubeStruct):
    scheduler_name: str = ""


class WhosePod(KubeObject):
    """Of a pod, no more than who is to schedule it."""

    spec: _WhoseSpec


WHOSE_PODS = Resource("", "v1", "pods", WhosePod)


class UnreadablePods:
    def __init__(self, client: Reader, recorder: EventRecorder, scheduler_name: str) -> None:
        self._client = client
        self._recorder = recorder
        self._scheduler_name = scheduler_name
        self._found: asyncio.Queue[Unreadable] = asyncio.Queue(_MOST)

    def found(self, unreadable: Unreadable) -> None:
        if not self._found.full():
            self._found.put_nowait(unreadable)

    async def run(self) -> None:
        """Tells, until it is cancelled."""
        while True:
            unreadable = await self._found.get()
            try:
                if await self._is_ours(unreadable.metadata):
                    pod = Pod(unreadable.metadata, PodSpec())
                    note = f"the pod can't be scheduled: {unreadable.problem}"
                    self._recorder.event(pod, "Warning", "FailedScheduling", "Scheduling", note)
            except NotFound:
                continue
            except KubeError as error:
                log.warning("kube.pod_owner_unknown", pod=unreadable.metadata.name, why=str(error))

    async def _is_ours(self, metadata: Metadata) -> bool:
        found = await self._client.get(WHOSE_PODS, metadata.name or "", namespace_of(metadata))
        return found.spec.scheduler_name == self._scheduler_name
