"""Pods that come and go for as long as is asked: bound and deleted, failed, never bound, in gangs; on nodes
that are cordoned, and replaced by others.

No two jobs are alike, and no name comes twice: whatever a scheduler keeps of what is gone adds up.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum
from itertools import count
from random import Random
from typing import Any

from msgspec import Struct

from rota.kube.api.client import Selection
from rota.kube.api.errors import NotFound
from rota.kube.api.informer import Informer
from rota.kube.api.resources import NODES, PODS
from rota.kube_objects.objects.pods import Pod
from tests.real.kube.pods import PATIENCE_S, Place

JOBS_AT_ONCE = 120
NODE_COUNT = 30
CPUS_OF_NODE = 64
_EACH_NODE_S = 0.5
"""After so long something happens to another node."""


class End(Enum):
    DELETED = "deleted"
    FAILED = "failed, then deleted"
    NEVER_BOUND = "deleted while it waits"


class JobShape(Struct, frozen=True):
    pods: int
    cpu: str
    labels: dict[str, str]
    end: End


def drawn_shape(chance: Random, number: int) -> JobShape:
    end = chance.choices(list(End), (6, 3, 1))[0]
    pods = chance.randint(2, 6) if chance.random() < 0.2 else 1
    cpu = "1000" if end is End.NEVER_BOUND else f"{chance.randint(100, 2000)}m"
    return JobShape(pods, cpu, {"job-number": str(number)}, end)


class Churn:
    def __init__(self, place: Place, seed: int) -> None:
        self._place = place
        self._chance = Random(seed)
        self._numbers = count()
        self._node_numbers = count()
        self._nodes: list[str] = []
        self._bound: dict[str, asyncio.Event] = {}
        self._left = 0
        self.over = 0
        """Pods that have come and gone."""

    async def run(self, pods: int) -> None:
        """Until so many have come and gone. TimeoutError: one that could be bound wasn't."""
        informer = Informer(self._place.client, PODS, Selection(self._place.namespace))
        informer.subscribe(self._pod_changed)
        self._left = pods
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(informer.run())
            await self._add_nodes(NODE_COUNT)
            changing = tasks.create_task(self._change_nodes())
            async with asyncio.TaskGroup() as jobs:
                for _ in range(JOBS_AT_ONCE):
                    jobs.create_task(self._one_job_after_another())
            changing.cancel()
            watching.cancel()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.spec.node_name:
            bound = self._bound.get(new.metadata.name or "")
            if bound is not None:
                bound.set()

    # -- jobs

    async def _one_job_after_another(self) -> None:
        while self._left > 0:
            number = next(self._numbers)
            shape = drawn_shape(self._chance, number)
            self._left -= shape.pods
            await self._live(f"job-{number}", shape)
            self.over += shape.pods

    async def _live(self, job: str, shape: JobShape) -> None:
        names = [f"{job}-{number}" for number in range(shape.pods)]
        self._bound |= {name: asyncio.Event() for name in names}
        gang: dict[str, Any] = {} if shape.pods == 1 else {"gang": job, "least": str(shape.pods)}
        await asyncio.gather(
            *(self._place.add_pod(name, shape.cpu, labels=shape.labels, **gang) for name in names)
        )
        if shape.end is End.NEVER_BOUND:
            await asyncio.sleep(1.0)
        else:
            async with asyncio.timeout(PATIENCE_S):
                for name in names:
                    await self._bound[name].wait()
        if shape.end is End.FAILED:
            await asyncio.gather(*map(self._fail, names))
        for name in names:
            del self._bound[name]
        await asyncio.gather(*map(self._delete, names))

    async def _fail(self, name: str) -> None:
        change = {"status": {"phase": "Failed"}}
        await self._place.client.patch_status(PODS, name, change, self._place.namespace)

    async def _delete(self, name: str) -> None:
        await self._place.client.delete(PODS, name, self._place.namespace, grace_s=0)

    # -- nodes

    async def _change_nodes(self) -> None:
        cordoned = ""
        while True:
            await asyncio.sleep(_EACH_NODE_S)
            if cordoned:
                await self._cordon(cordoned, False)
            cordoned = self._chance.choice(self._nodes)
            await self._cordon(cordoned, True)
            if self._chance.random() < 0.2:
                await self._place.client.delete(NODES, self._nodes.pop(0))
                await self._add_nodes(1)

    async def _cordon(self, node: str, is_cordoned: bool) -> None:
        with suppress(NotFound):
            await self._place.client.patch(NODES, node, {"spec": {"unschedulable": is_cordoned or None}})

    async def _add_nodes(self, more: int) -> None:
        names = [f"n{next(self._node_numbers)}" for _ in range(more)]
        self._nodes += await self._place.add_nodes(*names, cpu=str(CPUS_OF_NODE))
