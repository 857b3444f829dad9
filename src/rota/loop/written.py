"""What a job's tasks wrote and left, from the backends of the nodes that they were on. Asked by the desk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from rota.backends.backend import Backend, LogChunk, LogQuery
from rota.backends.registry import Registry
from rota.control.memory import Memory
from rota.model.ids import JobId
from rota.store.store import Store


class Written:
    def __init__(self, backends: Registry, memory: Memory, store: Store) -> None:
        self._backends = backends
        self._memory = memory
        self._store = store

    async def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        """Of each backend what it has; first of the one that the job left first. The end of all
        (`tail_bytes`) is what the last of them has."""
        backends = await self._backends_of(query.job)
        for backend in backends if query.tail_bytes is None else backends[-1:]:
            async for chunks in backend.logs(query):
                yield chunks

    async def output(self, job_id: JobId, rank: int, path: str) -> AsyncIterator[bytes]:
        """The latest; raises FileNotFoundError before the first bytes."""
        for backend in reversed(await self._backends_of(job_id)):
            try:
                async for piece in backend.output(job_id, rank, path):
                    yield piece
                return
            except FileNotFoundError:
                continue
        raise FileNotFoundError(f"task {rank} of job {job_id} has left no file {path!r}")

    async def _backends_of(self, job_id: JobId) -> list[Backend]:
        """In the order of the job's latest start on each. If one of its nodes is gone, nobody knows any more
        whose it was: then any of them may have something."""
        names: dict[str, None] = {}
        for name in await asyncio.to_thread(self._store.nodes_of, job_id):
            node = self._memory.node(name)
            if node is None or node.spec.backend not in self._backends:
                return list(self._backends)
            names.pop(node.spec.backend, None)
            names[node.spec.backend] = None
        return [self._backends.get(name) for name in names]
