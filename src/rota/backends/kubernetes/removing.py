"""Removes what tasks leave in the cluster once their ends are recorded: tried again until it is gone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from rota.backends.backend import TaskRef
from rota.backends.kubernetes.objects import JobPod
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.kube.api.errors import ApiError, KubeError
from rota.model.ids import JobId
from rota.patience.backoff import Backoff

log = structlog.get_logger()

_GRACE_S = 5
"""Only the log-collector is left to end, which does so at once."""
_AT_ONCE = 8
"""Calls."""


class Remover:
    def __init__(self, calls: PodCalls, pauses: Backoff, is_needed: Callable[[JobId], bool]) -> None:
        """`is_needed`: whether a task of the job is known."""
        self._calls = calls
        self._is_needed = is_needed
        self._pauses = pauses
        self._to_do: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()

    def remove(self, ref: TaskRef, pod: JobPod | None, *, tasks: int, at_once: bool = False) -> None:
        """`pod`: None, if there is none any more. `tasks`: of its job. `at_once`: nobody on its node is there
        to say that it has ended."""

        async def removing() -> None:
            if pod is not None:
                await self._calls.delete_pod(pod, 0 if at_once or pod.is_terminal else _GRACE_S)
            await self._calls.delete_secret(ref)
            if tasks > 1:
                await self._calls.delete_network(ref.job, self._is_needed)

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
