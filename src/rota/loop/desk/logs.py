"""A job's output from its first start to its end, however often it is tried again in between."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from rota.backends.backend import LogChunk, LogQuery
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.lifecycle.state import JobState
from rota.store.reading.event_list import EventFilter


async def followed(
    query: LogQuery,
    logs: Callable[[LogQuery], AsyncGenerator[Sequence[LogChunk], None]],
    memory: Memory,
    feed: Feed,
) -> AsyncIterator[Sequence[LogChunk]]:
    """Backends follow what they run; before and between, the job's events say when that is."""
    seen = _Seen()
    events = feed.follow(feed.last_seq, EventFilter(subject=query.job))
    try:
        while True:
            state = memory.jobs.get(query.job)
            shown: set[int] = set()
            async with aclosing(logs(replace(query, follow=state is not None))) as batches:
                async for chunks in batches:
                    new = [chunk for chunk in chunks if chunk.fence not in seen]
                    shown.update(chunk.fence for chunk in new)
                    if new:
                        yield new
            if state is None:
                return
            seen.add(state, shown)
            # What was to be shown of the end of the log was shown by now.
            query = replace(query, tail_bytes=None)
            while (state := memory.jobs.get(query.job)) is not None:
                if not all(task.fence in seen for task in state.live if task.started_ms is not None):
                    break
                await anext(events)
    finally:
        await events.aclose()


class _Seen:
    """Fences of which all was shown, or was before what is asked for."""

    def __init__(self) -> None:
        self._up_to = 0
        self._but: frozenset[int] = frozenset()
        """Those that hadn't started. One may be kept back for long: its backend, which would follow it,
        doesn't know of it yet."""
        self._shown: set[int] = set()

    def __contains__(self, fence: int) -> bool:
        return fence in self._shown or (fence <= self._up_to and fence not in self._but)

    def add(self, state: JobState, shown: set[int]) -> None:
        """`state`: as the job was before what was shown."""
        self._up_to = state.fence
        self._but = frozenset(task.fence for task in state.live if task.started_ms is None)
        self._shown |= shown
