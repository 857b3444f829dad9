"""What a job's tasks wrote and left, from the backends of the nodes that they were on. Asked by the desk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from rota.backends.backend import Backend, KeptFile, LogChunk, LogQuery
from rota.backends.registry import Registry
from rota.control.memory import Memory
from rota.loop.desk.log_merging import SETTLING_S, merged
from rota.model.ids import JobId
from rota.store.reading.reader import StoreReader


class Written:
    def __init__(self, backends: Registry, memory: Memory, store: StoreReader) -> None:
        self._backends = backends
        self._memory = memory
        self._store = store

    async def logs(self, query: LogQuery) -> AsyncGenerator[Sequence[LogChunk], None]:
        """In the order of time, whichever backends it is on. What is followed comes as it arrives."""
        backends = await self._backends_of(query.job)
        skip_bytes = await _surplus_bytes(backends, query) if len(backends) > 1 else 0
        streams = [backend.logs(query) for backend in backends]
        async with aclosing(merged(streams, SETTLING_S if query.follow else None)) as batches:
            async for chunks in batches:
                kept, skip_bytes = _without_first(chunks, skip_bytes) if skip_bytes else (chunks, 0)
                if kept:
                    yield kept

    async def output(self, job_id: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        """The latest; raises FileNotFoundError before the first bytes."""
        for backend in reversed(await self._backends_of(job_id)):
            try:
                async for piece in backend.output(job_id, rank, path, epoch):
                    yield piece
                return
            except FileNotFoundError:
                continue
        raise FileNotFoundError(f"task {rank} of job {job_id} has left no file {path!r}")

    async def outputs(self, job_id: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        """The latest of each."""
        found: dict[tuple[int, str], KeptFile] = {}
        for backend in await self._backends_of(job_id):
            found |= {(one.rank, one.path): one for one in await backend.outputs(job_id, epoch)}
        return sorted(found.values())

    async def _backends_of(self, job_id: JobId) -> list[Backend]:
        """In the order of the job's latest start on each. If one of its nodes is gone, its backend is
        unknown: then each of them may have output."""
        names: dict[str, None] = {}
        for name in await asyncio.to_thread(self._store.nodes_of, job_id):
            node = self._memory.node(name)
            if node is None or node.spec.backend not in self._backends:
                return list(self._backends)
            names.pop(node.spec.backend, None)
            names[node.spec.backend] = None
        return [self._backends.get(name) for name in names]


async def _surplus_bytes(backends: Iterable[Backend], query: LogQuery) -> int:
    """Each backend answers with the end of its own output: this is the excess of all of them over the end of
    the whole."""
    if query.tail_bytes is None:
        return 0
    ends = replace(query, follow=False)
    sizes = [
        len(chunk.data) for backend in backends async for chunks in backend.logs(ends) for chunk in chunks
    ]
    return max(0, sum(sizes) - query.tail_bytes)


def _without_first(chunks: Sequence[LogChunk], skip_bytes: int) -> tuple[list[LogChunk], int]:
    """And how much is still to be skipped."""
    kept: list[LogChunk] = []
    for chunk in chunks:
        cut_bytes = min(skip_bytes, len(chunk.data))
        skip_bytes -= cut_bytes
        if cut_bytes < len(chunk.data):
            kept.append(replace(chunk, data=chunk.data[cut_bytes:]) if cut_bytes else chunk)
    return kept, skip_bytes
