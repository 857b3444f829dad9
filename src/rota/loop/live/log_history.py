"""Removes what jobs wrote once it is old, or once it is too much: logs and outputs. The jobs stay."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from rota.backends.registry import Registry
from rota.store.reading.queries import EndedJob
from rota.store.store import Store

MEASURED_AT_ONCE = 1000
"""Jobs of one step, and of one portion at most."""
PORTIONS = 100
"""What one portion holds is about so small a part of all that may be kept."""
FORGOTTEN_AT_ONCE = 1000
_BEFORE_ALL = EndedJob(-1, -1)
_LAST_KEY = 2**63 - 1


class Kept(Struct, frozen=True, omit_defaults=True):
    """Of what jobs wrote that are over; None: there is no such bound."""

    age_ms: int | None = None
    size_bytes: int | None = None


class _Portion(Struct):
    """Jobs that ended one after the other, and how much they wrote together: sizes of millions of jobs
    wouldn't fit in memory."""

    last: EndedJob
    count: int = 0
    size_bytes: int = 0


class LogKeeper:
    """The order of ends is the order in which output goes: one moment says what is gone and what is kept."""

    def __init__(self, store: Store, backends: Registry, kept: Kept) -> None:
        self._store = store
        self._backends = backends
        self._kept = kept
        self._gone_to: EndedJob | None = None
        """None: not known yet."""
        self._measured_to = _BEFORE_ALL
        self._portions: deque[_Portion] = deque()
        self._total_bytes = 0

    async def tidy(self, now_ms: int) -> bool:
        """One step. Whether there is more to do."""
        if self._kept == Kept():
            return False
        if self._gone_to is None:
            gone_ms = await asyncio.to_thread(self._store.logs_pruned_ms)
            self._gone_to = self._measured_to = EndedJob(gone_ms, _LAST_KEY)
        are_more = self._kept.size_bytes is not None and await self._measure(now_ms)
        cut_ms = await self._cut_ms(now_ms)
        if cut_ms <= self._gone_to.ended_ms:
            return are_more
        return await self._forget(self._gone_to, cut_ms) or are_more

    async def _measure(self, now_ms: int) -> bool:
        """What has ended since the last time. Whether there is more of it."""
        ended = await asyncio.to_thread(self._store.ended_jobs, self._measured_to, now_ms, MEASURED_AT_ONCE)
        if not ended:
            return False
        for job, size_bytes in zip(ended, await self._sizes(ended), strict=True):
            if not self._portions or self._is_full(self._portions[-1]):
                self._portions.append(_Portion(job))
            portion = self._portions[-1]
            portion.last = job
            portion.count += 1
            portion.size_bytes += size_bytes
            self._total_bytes += size_bytes
        self._measured_to = ended[-1]
        return len(ended) == MEASURED_AT_ONCE

    def _is_full(self, portion: _Portion) -> bool:
        most_bytes = (self._kept.size_bytes or 0) // PORTIONS
        return portion.count >= MEASURED_AT_ONCE or portion.size_bytes > most_bytes

    async def _sizes(self, ended: Sequence[EndedJob]) -> list[int]:
        ids = [job.id for job in ended]
        of_backends = [await backend.sizes(ids) for backend in self._backends]
        return [sum(sizes) for sizes in zip(*of_backends, strict=True)] if of_backends else [0] * len(ids)

    async def _cut_ms(self, now_ms: int) -> int:
        """What jobs wrote that ended up to then is to go."""
        cut_ms = -1 if self._kept.age_ms is None else now_ms - self._kept.age_ms
        oldest = await asyncio.to_thread(self._store.ended_jobs, _BEFORE_ALL, now_ms, 1)
        while self._portions:
            first = self._portions[0]
            # Jobs that were removed themselves have taken along what they wrote.
            is_gone = first.last.ended_ms <= cut_ms or not oldest or first.last < oldest[0]
            is_too_much = (
                self._kept.size_bytes is not None
                and self._total_bytes > self._kept.size_bytes
                # What ended last stays, however much it is: somebody is about to read it.
                and len(self._portions) > 1
            )
            if not (is_gone or is_too_much):
                break
            if not is_gone:
                cut_ms = max(cut_ms, first.last.ended_ms)
            self._portions.popleft()
            self._total_bytes -= first.size_bytes
        return cut_ms

    async def _forget(self, after: EndedJob, cut_ms: int) -> bool:
        """Whether there is more of it. The moment is noted once the files are gone: after a crash in between
        they are removed again, which does no harm."""
        ended = await asyncio.to_thread(self._store.ended_jobs, after, cut_ms, FORGOTTEN_AT_ONCE)
        if ended:
            for backend in self._backends:
                await backend.forget([job.id for job in ended])
        are_more = len(ended) == FORGOTTEN_AT_ONCE
        # Of those that ended in the same millisecond as the last, some may be left.
        gone_ms = ended[-1].ended_ms - 1 if are_more else cut_ms
        self._gone_to = ended[-1] if are_more else EndedJob(cut_ms, _LAST_KEY)
        if ended:
            await asyncio.to_thread(self._store.note_logs_pruned, gone_ms)
        return are_more
