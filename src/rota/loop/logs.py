"""A job's output from its first start to its end, however often it is tried again in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from rota.backends.backend import Backend, LogChunk, LogQuery
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.model.ids import JobId
from rota.store.event_list import EventFilter


async def followed(
    query: LogQuery, backend: Backend, memory: Memory, feed: Feed
) -> AsyncIterator[Sequence[LogChunk]]:
    """A backend follows what it runs; before and between, the job's events say when that is."""
    seen = 0
    """The highest fence of which all was shown: a later try has a higher one."""
    events = feed.follow(feed.last_seq, EventFilter(subject=query.job))
    try:
        while True:
            last = _latest_fence(memory, query.job)
            is_over = query.job not in memory.jobs
            async for chunks in backend.logs(replace(query, follow=not is_over)):
                new = [chunk for chunk in chunks if chunk.fence > seen]
                if new:
                    yield new
            # What was to be shown of the end of the log was shown by now.
            query = replace(query, tail_bytes=None)
            seen = last
            if is_over:
                return
            while query.job in memory.jobs and _latest_fence(memory, query.job) == seen:
                await anext(events)
    finally:
        await events.aclose()  # type: ignore[attr-defined]


def _latest_fence(memory: Memory, job_id: JobId) -> int:
    state = memory.job(job_id)
    return 0 if state is None else state.fence
