"""What tasks wrote and left, and files that jobs to come need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from rota.backends.backend import KeptFile, LogChunk, LogQuery
from rota.backends.registry import Registry
from rota.control.errors import Conflict
from rota.control.transactor import Transactor
from rota.lifecycle.state import JobState
from rota.loop.desk.logs import followed
from rota.loop.desk.task_output import Written
from rota.model.ids import JobId

PutFile = Callable[[str, AsyncIterator[bytes], str], Awaitable[bool]]


class OutputDesk:
    def __init__(self, transactor: Transactor, backends: Registry, put_file: PutFile) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._backends = backends
        self._written = Written(backends, transactor.memory, transactor.store)
        self._put_file = put_file

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        self._check_any_backend(query.job)
        if not query.follow:
            return self._written.logs(query)
        return followed(query, self._written.logs, self._memory, self._transactor.feed)

    async def is_gone(self, state: JobState) -> bool:
        """Whether what the job wrote was removed since."""
        if state.ended_ms is None:
            return False
        gone_ms = await asyncio.to_thread(self._transactor.store.logs_pruned_ms)
        if state.ended_ms > gone_ms:
            return False
        # A report may come so late that the output of its time was removed before.
        return not any([any(await backend.sizes([state.id])) for backend in self._backends])

    def output(self, job_id: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        """Raises FileNotFoundError before the first bytes, or NotFound."""
        self._check_any_backend(job_id)
        return self._written.output(job_id, rank, path, epoch)

    async def outputs(self, job_id: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        self._check_any_backend(job_id)
        return await self._written.outputs(job_id, epoch)

    def _check_any_backend(self, job_id: JobId) -> None:
        if not len(self._backends):
            raise Conflict(
                f"nothing is known of what job {job_id} wrote: this server has no worker",
                "start it with server.embedded_worker = true",
            )

    async def put_file(self, sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
        """Whether it is new. It is put in place once `chunks` has ended, and not at all if that raises."""
        return await self._put_file(sha256, chunks, user)
