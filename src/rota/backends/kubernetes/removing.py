"""Removes what tasks leave in the cluster once their ends are recorded: tried again until it is gone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from rota.backends.kubernetes.objects import JobPod
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.kubernetes.record import TaskRecord
from rota.kube.api.errors import ApiError, KubeError
from rota.patience.backoff import Backoff

log = structlog.get_logger()

_GRACE_S = 5
"""Only the log-collector is left to end, which does so at once."""
_AT_ONCE = 8
"""Calls."""


class Remover:
    def __init__(self, calls: PodCalls, pauses: Backoff) -> None:
        self._calls = calls
        self._pauses = pauses
        self._to_do: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()

    def remove(self, record: TaskRecord, pod: JobPod, *, at_once: bool = False, is_last: bool = True) -> None:
        """`at_once`: nobody on its node is there to say that it has ended. `is_last`: no other task of the
        job is known."""

        async def removing() -> None:
            await self._calls.delete_pod(pod, 0 if at_once or pod.is_terminal else _GRACE_S)
            await self._calls.delete_secret(record.ref)
            if record.tasks > 1 and is_last:
                await self._calls.delete_network(record.ref.job)

        self._to_do.put_nowait(removing)

    def remove_orphans(self, jobs: set[str]) -> None:
        self._to_do.put_nowait(lambda: self._calls.remove_orphans(jobs))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            remove = await self._to_do.get()
            failures = 0
            while True:
                try:
                    await remove()
                    break
                except KubeError as error:
                    failures += 1
                    log.warning("pod.unremoved", why=str(error))
                    if isinstance(error, ApiError) and not error.may_pass and failures > 3:
                        break
                    await asyncio.sleep(self._pauses.pause_s(failures, random.random()))
