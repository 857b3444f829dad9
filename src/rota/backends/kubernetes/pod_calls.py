"""Calls of the cluster about one pod: make it and all that belongs to it, run commands in it, remove it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterable, Callable
from typing import Any, NamedTuple, Self, TypeVar

from rota.backends.backend import TaskRef, TaskStart
from rota.backends.kubernetes import names
from rota.backends.kubernetes.network import default_policy, job_policy, service_of, tool_cache_claim
from rota.backends.kubernetes.objects import JOB_PODS, POLICIES, SECRETS, SERVICES, TOOL_CACHES, JobPod
from rota.backends.kubernetes.options import PodOptions
from rota.backends.kubernetes.pods import pod_of, secret_of
from rota.backends.kubernetes.record import read
from rota.kube.api.client import Client, Selection
from rota.kube.api.config import find_cluster
from rota.kube.api.errors import AlreadyExists, Call, Conflict, NotFound, Unreachable
from rota.kube.api.remote_command import Channel
from rota.kube.api.resources import Resource
from rota.kube_objects.objects.metadata import KubeObject
from rota.model.ids import JobId

T = TypeVar("T", bound=KubeObject)


class Answer(NamedTuple):
    """Of a command that has ended."""

    exit_code: int | None
    out: bytes
    err: bytes
    problem: str

    @property
    def why(self) -> str:
        return self.err.decode("utf-8", "replace").strip() or self.problem or f"exit code {self.exit_code}"


class PodCalls:
    def __init__(self, client: Client, namespace: str, options: PodOptions) -> None:
        self.client = client
        self.namespace = namespace
        self.options = options
        self._network = asyncio.Lock()
        """What a start needs isn't removed at the same time, as after an earlier one."""
        self.selection = Selection(
            namespace,
            labels=f"{names.BACKEND}={names.KIND},{names.INSTANCE}={names.label_value(options.instance)}",
        )

    @classmethod
    def by_kubeconfig(cls, file: str, context: str, namespace: str, options: PodOptions) -> Self:
        """Empty ones are as kubectl chooses them. InputError where they can't be read."""
        access = find_cluster(file or None, context or None)
        return cls(Client(access), namespace or access.namespace, options)

    async def prepare(self) -> None:
        """What there is once for all jobs."""
        await self._create_if_missing(POLICIES, default_policy(self.options))
        if self.options.tool_cache is not None:
            await self._create_if_missing(TOOL_CACHES, tool_cache_claim(self.options.tool_cache))

    async def make(self, start: TaskStart, node: str, name: str) -> JobPod:
        """The pod of this start under that name. If there is one of this start, it is that one; NameTaken if
        the name is another's."""
        job, secret_name = start.ref.job, names.pod_name_of_start(start.ref)
        if len(start.hosts) > 1:
            async with self._network:
                await self._create_if_missing(SERVICES, service_of(job, self.options))
                await self._create_if_missing(POLICIES, job_policy(job, self.options))
        secret = secret_of(start, self.options, secret_name)
        if secret is not None:
            await self._create_if_missing(SECRETS, secret)
        try:
            pod = await self.client.create(
                JOB_PODS, pod_of(start, self.options, node, name, secret_name), self.namespace
            )
        except AlreadyExists:
            pod = await self.client.get(JOB_PODS, name, self.namespace)
            record = read(pod.metadata.annotations)
            if record is None or record.ref != start.ref:
                raise NameTaken(name) from None
        if secret is not None:
            await self._own(secret_name, pod)
        return pod

    async def _own(self, secret: str, pod: JobPod) -> None:
        """The cluster removes it with the pod, whatever becomes of us."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
        change = {"metadata": {"ownerReferences": [owner]}}
        try:
            await self.client.patch(SECRETS, secret, change, self.namespace)
        except NotFound:
            return

    async def _create_if_missing(self, resource: Resource[T], body: dict[str, Any]) -> None:
        try:
            await self.client.create(resource, body, self.namespace)
        except AlreadyExists:
            return

    async def secret_values(self, ref: TaskRef) -> list[str] | None:
        """Those that its output must not show; None: they are gone."""
        try:
            secret = await self.client.get(SECRETS, names.pod_name_of_start(ref), self.namespace)
        except NotFound:
            return None
        data = secret.data or {}
        return [
            base64.b64decode(value).decode("utf-8", "replace")
            for key, value in data.items()
            if key.startswith("env.")
        ]

    async def run(
        self,
        pod: str,
        container: str,
        command: list[str],
        given: AsyncIterable[bytes] | None = None,
        *,
        within_s: float = 60.0,
    ) -> Answer:
        """What it writes is held in memory: for commands that write little. Raises Unreachable, if it hasn't
        ended by then."""
        out, err = bytearray(), bytearray()
        running_in = self.client.run_in(self.namespace, pod, container, command, has_input=given is not None)
        try:
            async with asyncio.timeout(within_s), running_in as running:
                if given is not None:
                    async for data in given:
                        await running.send(data)
                async for piece in running.pieces():
                    (out if piece.channel is Channel.OUT else err).extend(piece.data)
        except TimeoutError:
            call = Call("create", "pods/exec", namespace=self.namespace, name=pod)
            raise Unreachable(call, f"the command takes longer than {within_s:g} s") from None
        return Answer(running.exit_code, bytes(out), bytes(err), running.problem)

    async def release(self, pod: JobPod, node: str, room_of: str) -> None:
        """One on standby starts there. Doing it twice does no harm."""
        name = pod.metadata.name or ""
        change = {
            "metadata": {"annotations": {f"{names.LABELS}room-of": room_of}},
            "spec": {"schedulingGates": None},
        }
        await self.client.patch(JOB_PODS, name, change, self.namespace)
        try:
            await self.client.bind(self.namespace, name, node, uid=pod.metadata.uid or "")
        except Conflict:
            return

    async def annotate(self, pod: str, key: str, value: str) -> None:
        await self.client.patch(JOB_PODS, pod, {"metadata": {"annotations": {key: value}}}, self.namespace)

    async def delete_pod(self, pod: JobPod, grace_s: int | None = None) -> None:
        try:
            await self.client.delete(
                JOB_PODS, pod.metadata.name or "", self.namespace, uid=pod.metadata.uid, grace_s=grace_s
            )
        except (NotFound, Conflict):
            # Gone, or the name is another's by now.
            return

    async def delete_secret(self, ref: TaskRef) -> None:
        await self._delete_named(SECRETS, names.pod_name_of_start(ref))

    async def delete_network(self, job: JobId, is_needed: Callable[[JobId], bool]) -> None:
        """What all tasks of the job share, unless somebody needs it meanwhile."""
        async with self._network:
            if not is_needed(job):
                await self._delete_network(job)

    async def _delete_network(self, job: JobId) -> None:
        await self._delete_named(SERVICES, names.service_name(job))
        await self._delete_named(POLICIES, names.service_name(job))

    async def _delete_named(self, resource: Resource[T], name: str) -> None:
        try:
            await self.client.delete(resource, name, self.namespace)
        except NotFound:
            return

    async def remove_orphans(self, jobs: set[str]) -> None:
        """What belongs to none of these jobs, by their labels: left by a server that crashed."""
        await self._remove_others(SECRETS, jobs)
        await self._remove_others(SERVICES, jobs)
        await self._remove_others(POLICIES, jobs)

    async def _remove_others(self, resource: Resource[T], jobs: set[str]) -> None:
        for found in await self.client.list_all(resource, self.selection):
            job = (found.metadata.labels or {}).get(names.JOB)
            if job is not None and job not in jobs:
                await self._delete_named(resource, found.metadata.name or "")


def check_kubeconfig(file: str, context: str) -> None:
    """InputError where they can't be read. No cluster is asked."""
    find_cluster(file or None, context or None)


class NameTaken(Exception):
    """By the pod of another start."""
