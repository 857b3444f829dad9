"""A job's output from its first start to its end, however often it is tried again in between."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from rota.backends.backend import LogChunk, LogQuery
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.lifecycle.state import JobState
from rota.store.event_list import EventFilter


async def followed(
    query: LogQuery,
    logs: Callable[[LogQuery], AsyncGenerator[Sequence[LogChunk], None]],
    memory: Memory,
    feed: Feed,
) -> AsyncIterator[Sequence[LogChunk]]:
    """Backends follow what they run; before and between, the job's events say when that is."""
    seen: set[int] = set()
    """Fences of which all was shown, or was before what is asked for."""
    events = feed.follow(feed.last_seq, EventFilter(subject=query.job))
    try:
        while True:
            state = memory.jobs.get(query.job)
            before = set() if state is None else _begun(state, range(1, state.fence + 1))
            shown: set[int] = set()
            async with aclosing(logs(replace(query, follow=state is not None))) as batches:
                async for chunks in batches:
                    new = [chunk for chunk in chunks if chunk.fence not in seen]
                    shown.update(chunk.fence for chunk in new)
                    if new:
                        yield new
            if state is None:
                return
            seen |= before | shown
            # What was to be shown of the end of the log was shown by now.
            query = replace(query, tail_bytes=None)
            while (state := memory.jobs.get(query.job)) is not None:
                if not _begun(state, (task.fence for task in state.live)) <= seen:
                    break
                await anext(events)
    finally:
        await events.aclose()


def _begun(state: JobState, fences: Iterable[int]) -> set[int]:
    """Those whose tasks have started. One that hasn't may be kept back for long: its backend, which would
    follow it, doesn't know of it yet."""
    return set(fences).difference(task.fence for task in state.live if task.started_ms is None)
