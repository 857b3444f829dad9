"""What tenants have used, for fair shares of pods; and how it outlives the scheduler.

A pod that runs counts as what its tenant holds. When it ends, what it held is charged, and fades from then
on. The leader keeps that in a ConfigMap, which it writes rarely. Whoever leads next goes on with it, and adds
what ended since: every replica sees pods end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import msgspec
import structlog
from msgspec import Struct

from rota.clock import now_ms
from rota.forecast.usage import Ledger
from rota.kube.api.errors import AlreadyExists, KubeError, NotFound
from rota.kube.api.resources import CONFIG_MAPS, Resource
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.pods import PodState, PodTask
from rota.model.cluster import TenantUsage
from rota.model.ids import TaskName
from rota.model.job import JobTemplate
from rota.model.policy import Policy
from rota.snapshot.state import ClusterState

T = TypeVar("T", bound=KubeObject)

WRITTEN_EVERY_S = 60.0
_REMEMBERED_MS = round(5 * WRITTEN_EVERY_S * 1000)
_MOST_BYTES = 900_000
"""An object of the API holds one MiB at most."""
_FIELD = "usage.json"
_PATIENCE_S = 3.0
"""Whoever has just begun to lead, or is about to end, waits no longer."""

log = structlog.get_logger()


class Kept(Struct):
    """As it is written."""

    written_ms: int
    tenants: list[TenantUsage]


class _Charge(Struct, frozen=True):
    template: JobTemplate
    held_ms: int
    ended_ms: int


class PodUsage:
    """Of all pods that ran, whoever scheduled them: all of them hold what others can't have."""

    def __init__(self, policy: Policy, clock_ms: Callable[[], int] = now_ms) -> None:
        self._policy = policy
        self._clock_ms = clock_ms
        self._ledger = self._new_ledger(())
        self._since_ms: dict[TaskName, int] = {}
        self._recent: deque[_Charge] = deque()
        self._is_shown = False
        self.is_written = True

    def observed(self, name: TaskName, before: PodTask | None, after: PodTask | None) -> None:
        """A pod was read again."""
        ran = before is not None and before.state is PodState.RUNNING
        runs = after is not None and after.state is PodState.RUNNING
        if runs and not ran:
            assert after is not None
            # One that was seen to wait begins now; another one was there before us.
            self._since_ms[name] = after.started_ms if before is None else self._clock_ms()
        elif ran and not runs:
            assert before is not None
            since_ms = self._since_ms.pop(name, before.started_ms)
            if after is None or after.state in (PodState.DONE, PodState.GONE):
                now = self._clock_ms()
                self._charge(_Charge(before.template, max(0, now - since_ms), now))

    def show(self, state: ClusterState) -> None:
        """To whoever decides."""
        if not self._is_shown:
            state.set_usage(self._ledger.usage())
            self._is_shown = True

    def kept(self) -> Kept:
        """All of it, or that of those who used something last."""
        used = (one for one in self._ledger.usage() if any(amount for _, amount in one.amounts))
        kept, size = [], 0
        for one in sorted(used, key=lambda one: -one.as_of_ms):
            size += len(msgspec.json.encode(one)) + 1
            if size > _MOST_BYTES:
                break
            kept.append(one)
        return Kept(self._clock_ms(), kept)

    def restore(self, kept: Kept) -> None:
        """Goes on with that, and with what has ended since then."""
        self._ledger = self._new_ledger(kept.tenants)
        recent, self._recent = self._recent, deque()
        self.is_written, self._is_shown = True, False
        for charge in recent:
            if charge.ended_ms > kept.written_ms:
                self._charge(charge)

    def _charge(self, charge: _Charge) -> None:
        template = charge.template
        self._ledger.stopped(template, template.groups[0].spec, charge.held_ms, charge.ended_ms)
        self._recent.append(charge)
        while self._recent[0].ended_ms < charge.ended_ms - _REMEMBERED_MS:
            self._recent.popleft()
        self.is_written = self._is_shown = False

    def _new_ledger(self, before: Iterable[TenantUsage]) -> Ledger:
        return Ledger(self._policy.fair_share, before, self._policy.tenant_labels)


class Reader(Protocol):
    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T: ...


class Writer(Protocol):
    async def create(self, resource: Resource[T], body: Any, namespace: str = "") -> T: ...

    async def patch(self, resource: Resource[T], name: str, change: Any, namespace: str = "") -> T: ...


class UsageKeeper:
    def __init__(self, reader: Reader, writer: Writer, namespace: str, name: str, usage: PodUsage) -> None:
        """`name`: of the ConfigMap."""
        self._reader = reader
        self._writer = writer
        self._namespace = namespace
        self._name = name
        self._usage = usage

    async def load(self) -> None:
        """Without it, what was used before isn't counted."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                found = await self._reader.get(CONFIG_MAPS, self._name, self._namespace)
            self._usage.restore(msgspec.json.decode((found.data or {}).get(_FIELD, ""), type=Kept))
        except NotFound:
            return
        except (KubeError, TimeoutError, msgspec.DecodeError) as error:
            log.warning("kube.usage_unread", config_map=self._name, why=str(error) or "no answer in time")

    async def run(self) -> None:
        """Writes what has changed, now and then, until it is cancelled."""
        while True:
            await asyncio.sleep(WRITTEN_EVERY_S)
            await self.save()

    async def save(self) -> None:
        if self._usage.is_written:
            return
        self._usage.is_written = True
        data = {_FIELD: msgspec.json.encode(self._usage.kept()).decode()}
        try:
            await self._write({"data": data})
        except KubeError as error:
            self._usage.is_written = False
            log.warning("kube.usage_unwritten", config_map=self._name, why=str(error))

    async def save_at_last(self) -> None:
        """Before another leads. Nobody waits for long."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self.save()
        except TimeoutError:
            self._usage.is_written = False

    async def _write(self, change: dict[str, Any]) -> None:
        try:
            await self._writer.patch(CONFIG_MAPS, self._name, change, self._namespace)
        except NotFound:
            try:
                body = {"metadata": {"name": self._name}, **change}
                await self._writer.create(CONFIG_MAPS, body, self._namespace)
            except AlreadyExists:
                await self._writer.patch(CONFIG_MAPS, self._name, change, self._namespace)
