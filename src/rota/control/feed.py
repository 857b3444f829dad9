"""Events as they are kept, for whoever follows them: the latest from memory, those before from the store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from rota.store.reading.queries import EventFilter
from rota.store.reading.reader import StoreReader
from rota.store.writing.batch import StoredEvent

KEPT = 20_000
PAGE = 1000


class Feed:
    def __init__(self, store: StoreReader, last_seq: int) -> None:
        self._store = store
        self._recent: deque[StoredEvent] = deque(maxlen=KEPT)
        self._last_seq = last_seq
        self._arrived = asyncio.Event()

    @property
    def last_seq(self) -> int:
        return self._last_seq

    def publish(self, events: Sequence[StoredEvent]) -> None:
        if not events:
            return
        self._recent.extend(events)
        self._last_seq = events[-1].seq
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()

    def skip_to(self, last_seq: int) -> None:
        """Events were kept that nobody published: those who follow find them in the store."""
        self._recent.clear()
        self._last_seq = last_seq
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()

    async def follow(
        self, after_seq: int, wanted: EventFilter
    ) -> AsyncGenerator[Sequence[StoredEvent], None]:
        """Never ends by itself. Whoever is slow reads from the store what has left the memory."""
        while True:
            arrived = self._arrived
            first = self._recent[0].seq if self._recent else self._last_seq + 1
            if after_seq + 1 < first and after_seq < self._last_seq:
                page = await asyncio.to_thread(self._store.events, after_seq, PAGE, wanted)
                if page:
                    yield page
                    after_seq = page[-1].seq
                    continue
                after_seq = max(after_seq, first - 1)
                continue
            found = self._newer(after_seq, wanted)
            after_seq = max(after_seq, self._last_seq)
            if found:
                yield found
            else:
                await arrived.wait()

    async def follow_latest(self, count: int, wanted: EventFilter) -> AsyncIterator[Sequence[StoredEvent]]:
        """The newest so many, and on from there."""
        last_seq = self._last_seq
        latest = await asyncio.to_thread(self._store.latest_events, count, wanted)
        if latest:
            yield latest
            # One may be stored already and not published yet.
            last_seq = max(last_seq, latest[-1].seq)
        async with aclosing(self.follow(last_seq, wanted)) as later:
            async for events in later:
                yield events

    def _newer(self, after_seq: int, wanted: EventFilter) -> list[StoredEvent]:
        found = []
        for event in reversed(self._recent):
            if event.seq <= after_seq:
                break
            if wanted.admits(event.row):
                found.append(event)
        found.reverse()
        return found
