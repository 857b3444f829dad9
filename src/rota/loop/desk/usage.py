"""What projects, users and queues have used: hours of cores, GPUs and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from enum import Enum

from rota.api.people import UsageDocument, UsageEntry
from rota.control.access import Who
from rota.control.transactor import Transactor
from rota.loop.live.forecaster import time_of
from rota.store.reading.usage_list import HeldTime

_HOUR_MS = 3_600_000
_GIB = 2**30


class UsageBy(Enum):
    PROJECT = "project"
    USER = "user"
    QUEUE = "queue"


_NAMES: dict[UsageBy, Callable[[HeldTime], str]] = {
    UsageBy.PROJECT: lambda held: held.project,
    UsageBy.USER: lambda held: held.user,
    UsageBy.QUEUE: lambda held: held.queue,
}


class UsageDesk:
    def __init__(self, transactor: Transactor) -> None:
        self._transactor = transactor

    async def usage(self, who: Who, since_ms: int, by: UsageBy) -> UsageDocument:
        """Of the projects that they see."""
        now_ms = self._transactor.now_ms()
        held = await asyncio.to_thread(self._transactor.store.held, since_ms, now_ms)
        return UsageDocument(
            since=time_of(since_ms),
            until=time_of(now_ms),
            by=by.value,
            items=usage_entries((one for one in held if who.sees(one.project)), by),
        )


def usage_entries(held: Iterable[HeldTime], by: UsageBy) -> list[UsageEntry]:
    totals: dict[str, list[int]] = {}
    for one in held:
        amounts = one.task.requests.plus(one.task.overhead)
        total = totals.setdefault(_NAMES[by](one), [0, 0, 0, 0])
        total[0] += one.tasks
        total[1] += one.held_ms * amounts.cpu_milli
        total[2] += one.held_ms * one.task.gpu.total_milli
        total[3] += one.held_ms * amounts.memory_bytes
    entries = [
        UsageEntry(
            name=name,
            tasks=tasks,
            cpu_hours=_rounded(cpu / 1000),
            gpu_hours=_rounded(gpu / 1000),
            memory_gib_hours=_rounded(memory / _GIB),
        )
        for name, (tasks, cpu, gpu, memory) in totals.items()
    ]
    return sorted(entries, key=lambda one: (-one.gpu_hours, -one.cpu_hours, -one.tasks, one.name))


def _rounded(amount_ms: float) -> float:
    return round(amount_ms / _HOUR_MS, 3)
