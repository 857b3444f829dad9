"""Leading, where several replicas run: by a Lease of the cluster, one at a time.

    follow ─► the lease is free, or not renewed for all its length ─► lead ─► it can't be renewed ─► follow

Clocks of machines are never compared: a replica measures how long it has seen the same record, a leader how
long ago it began to ask for its last renewal, each by a clock of its own that no one sets and that goes on
while a machine sleeps. A leader gives up well before others may take over, also one that stood still.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol, Self, TypeVar

import structlog
from msgspec import Struct

from rota.kube.api.errors import Conflict, KubeError, NotFound
from rota.kube.api.objects import Lease, LeaseSpec
from rota.kube.api.resources import LEASES, Resource
from rota.kube_objects.objects.metadata import KubeObject

T = TypeVar("T", bound=KubeObject)

log = structlog.get_logger()


class LeaseTimes(Struct, frozen=True):
    length_s: int = 15
    """After so long without a renewal another may lead."""
    given_up_after_s: float = 10.0
    """After so long without a renewal the leader no longer leads."""
    retry_s: float = 2.0

    @classmethod
    def of_length(cls, length_s: int) -> Self:
        """The other two in proportion, as kube-scheduler has them: 15, 10 and 2."""
        return cls(length_s, length_s * 2 / 3, length_s * 2 / 15)

    def __post_init__(self) -> None:
        if not self.length_s > self.given_up_after_s > self.retry_s > 0:
            raise ValueError(
                f"a lease of {self.length_s} s can't be given up after {self.given_up_after_s:g} s and "
                f"renewed every {self.retry_s:g} s; each must be shorter than the one before"
            )


class Client(Protocol):
    """Of a client, what leading takes."""

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T: ...

    async def create(self, resource: Resource[T], body: Any, namespace: str = "") -> T: ...

    async def patch(self, resource: Resource[T], name: str, change: Any, namespace: str = "") -> T: ...


def since_boot_s() -> float:
    """Goes on while the machine sleeps, or the process stands still."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def new_identity() -> str:
    """No two processes have the same, also one after the other in the same pod."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Leader:
    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        times: LeaseTimes = LeaseTimes(),  # noqa: B008 – frozen
        clock: Callable[[], float] = since_boot_s,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._times = times
        self._clock = clock
        self._seen: Lease | None = None
        self._seen_since_s = 0.0
        self._renewed_s = float("-inf")
        self.lost = asyncio.Event()
        """Set when it no longer leads."""
        self.lost.set()

    @property
    def seen_leader(self) -> str:
        """Who held the lease when it was looked at last; empty: nobody."""
        return _spec(self._seen).holder_identity or "" if self._seen else ""

    def leads(self) -> bool:
        """Nobody else can, at this very moment, however long this process may have stood still."""
        return not self.lost.is_set() and self._left_s() > 0

    async def lead(self) -> None:
        """Returns once it leads."""
        while not await self._take():
            # Of several that wait, not all ask at the same moment.
            await asyncio.sleep(self._times.retry_s * (1 + random.random()))
        self.lost.clear()
        log.info("leader.elected", lease=f"{self._namespace}/{self._name}", identity=self._identity)

    async def hold(self) -> None:
        """Renews until the leadership is lost, and then ends."""
        while not await self._lost_within(min(self._times.retry_s, max(0.0, self._left_s()))):
            renewed = await self._renew()
            if renewed is False or (renewed is None and self._left_s() <= 0):
                why = f"{self.seen_leader or 'no replica'} leads" if renewed is False else "no answer in time"
                log.warning("leader.lost", why=why)
                self.lost.set()

    async def resign(self) -> None:
        """Others needn't wait for the lease to end. What was led must have stopped before."""
        was_leading = self.leads()
        self.lost.set()
        if not was_leading:
            return
        try:
            async with asyncio.timeout(self._times.retry_s):
                await self._write(LeaseSpec(holder_identity="", lease_duration_seconds=1))
        except (KubeError, TimeoutError) as error:
            log.info("lease.not_released", why=str(error))

    async def _lost_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.lost.wait()
        return self.lost.is_set()

    async def _take(self) -> bool:
        asked_s = self._clock()
        try:
            async with asyncio.timeout(self._times.given_up_after_s):
                await self._look()
                if not self._is_free():
                    return False
                await self._claim()
        except Conflict:
            return False  # another was faster
        except (KubeError, TimeoutError) as error:
            log.warning("leader.unknown", why=str(error) or "no answer in time")
            return False
        self._renewed_s = asked_s
        return self._left_s() > 0

    async def _renew(self) -> bool | None:
        """None: there was no answer in time."""
        asked_s = self._clock()
        try:
            async with asyncio.timeout(max(0.0, self._left_s())):
                try:
                    await self._write(LeaseSpec(renew_time=_now()))
                except Conflict:
                    # Perhaps by our own renewal, whose answer was lost.
                    await self._look()
                    if self.seen_leader != self._identity:
                        return False
                    await self._write(LeaseSpec(renew_time=_now()))
        except (Conflict, NotFound):
            return False
        except (KubeError, TimeoutError) as error:
            log.warning("lease.not_renewed", why=str(error) or "no answer in time")
            return None
        self._renewed_s = asked_s
        return True

    async def _look(self) -> None:
        try:
            found = await self._client.get(LEASES, self._name, self._namespace)
        except NotFound:
            self._seen = None
            return
        if self._seen is None or self._seen.metadata.resource_version != found.metadata.resource_version:
            self._seen_since_s = self._clock()
        self._seen = found

    def _is_free(self) -> bool:
        if self._seen is None:
            return True
        spec = _spec(self._seen)
        if not spec.holder_identity or spec.holder_identity == self._identity:
            return True
        length_s = spec.lease_duration_seconds or self._times.length_s
        return self._clock() >= self._seen_since_s + length_s

    async def _claim(self) -> None:
        now = _now()
        spec = LeaseSpec(self._identity, self._times.length_s, acquire_time=now, renew_time=now)
        if self._seen is None:
            body = {"metadata": {"name": self._name}, "spec": spec}
            self._seen = await self._client.create(LEASES, body, self._namespace)
            return
        before = _spec(self._seen)
        if before.holder_identity != self._identity:
            spec.lease_transitions = (before.lease_transitions or 0) + 1
        await self._write(spec)

    async def _write(self, spec: LeaseSpec) -> None:
        """Conflict: it isn't as it was seen last."""
        assert self._seen is not None
        change = {"metadata": {"resourceVersion": self._seen.metadata.resource_version}, "spec": spec}
        self._seen = await self._client.patch(LEASES, self._name, change, self._namespace)
        self._seen_since_s = self._clock()

    def _left_s(self) -> float:
        return self._renewed_s + self._times.given_up_after_s - self._clock()


def _spec(lease: Lease | None) -> LeaseSpec:
    return (lease.spec if lease else None) or LeaseSpec()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
