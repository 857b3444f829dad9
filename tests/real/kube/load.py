"""Pods and gangs that come all the time, and end a while after they are bound, as under a controller of jobs.

A pod that somebody else ends is made anew under another name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count
from random import Random
from typing import Any

from msgspec import Struct

from rota.kube.api.resources import PODS
from rota.kube_objects.objects.pods import Pod
from tests.real.kube.pods import Place
from tests.real.kube.witness import gang_of

PATIENCE_S = 240.0
"""For what takes several leases, on a machine that has much else to do."""
BACKLOG = 60
"""So many pods wait at least, while nobody binds them."""


class JobShape(Struct, frozen=True):
    pods: int
    cpus: int
    runs_s: float


def drawn_shape(chance: Random) -> JobShape:
    runs_s = chance.uniform(0.2, 1.5)
    if chance.random() < 0.5:
        return JobShape(1, chance.randint(1, 8), runs_s)
    return JobShape(chance.randint(2, 12), chance.randint(1, 4), runs_s)


def drawn_crowd(chance: Random) -> JobShape:
    """More pods than a client has connections: they can't be bound all at the same moment."""
    return JobShape(chance.randint(105, 200), 1, chance.uniform(0.2, 1.5))


class Load:
    def __init__(self, place: Place, seed: int) -> None:
        self._place = place
        self._chance = Random(seed)
        self._numbers = count()
        self._waiting: set[str] = set()
        self._shapes: dict[str, JobShape] = {}
        """Of jobs that aren't over."""
        self._bound: dict[str, set[str]] = {}
        self._ended: set[str] = set()
        """Pods that are deleted here, and not by others."""
        self._work: set[asyncio.Task[None]] = set()
        self._fewer_wait = asyncio.Event()
        self._crowd = ""
        """That is yet to run."""
        self.made = 0
        self.gangs = 0
        self.replaced = 0

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            while len(self._waiting) >= BACKLOG or self._crowd:
                self._fewer_wait.clear()
                await self._fewer_wait.wait()
            # A gang that is begun gets all of its pods: otherwise it could never run.
            adding = self._begin(self._add(f"job-{next(self._numbers)}", drawn_shape(self._chance)))
            await asyncio.shield(adding)

    def add_crowd(self) -> str:
        """Answers its gang. Nothing else is made until it runs: it might never find room."""
        self._crowd = f"job-{next(self._numbers)}"
        self._begin(self._add(self._crowd, drawn_crowd(self._chance)))
        return self._crowd

    async def drain(self) -> None:
        """Until everything that was made has run."""
        async with asyncio.timeout(PATIENCE_S):
            while self._shapes or self._work:
                await asyncio.sleep(0.1)

    def unfinished(self) -> list[str]:
        return sorted(self._shapes)

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        name = pod.metadata.name or ""
        job = gang_of(pod) or name
        if new is None:
            self._is_gone(job, name)
        elif new.spec.node_name and name in self._waiting:
            self._waiting.discard(name)
            bound = self._bound[job]
            bound.add(name)
            if len(bound) == self._shapes[job].pods:
                self._begin(self._finish(job, set(bound)))
                self._crowd = "" if job == self._crowd else self._crowd
            self._fewer_wait.set()

    def _is_gone(self, job: str, name: str) -> None:
        if name in self._ended:
            self._ended.discard(name)
            return
        self._waiting.discard(name)
        self._bound[job].discard(name)
        self.replaced += 1
        self._begin(self._create(job, f"{name}-again"))

    async def _add(self, job: str, shape: JobShape) -> None:
        self._shapes[job] = shape
        self._bound[job] = set()
        self.gangs += shape.pods > 1
        names = [job] if shape.pods == 1 else [f"{job}-{number}" for number in range(shape.pods)]
        self._waiting.update(names)
        await asyncio.gather(*(self._create(job, name) for name in names))

    async def _create(self, job: str, name: str) -> None:
        shape = self._shapes[job]
        self._waiting.add(name)
        gang: dict[str, str] = {} if shape.pods == 1 else {"gang": job, "least": str(shape.pods)}
        await self._place.add_pod(name, str(shape.cpus), terminationGracePeriodSeconds=0, **gang)
        self.made += 1

    async def _finish(self, job: str, names: set[str]) -> None:
        await asyncio.sleep(self._shapes[job].runs_s)
        del self._shapes[job], self._bound[job]
        self._ended |= names
        namespace = self._place.namespace
        await asyncio.gather(*(self._place.client.delete(PODS, name, namespace, grace_s=0) for name in names))

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._is_done)
        return task

    def _is_done(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled():
            task.result()
