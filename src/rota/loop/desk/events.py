"""What happened, and what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from rota.control.transactor import Transactor
from rota.store.reading.queries import EventFilter
from rota.store.writing.batch import StoredEvent


class EventsDesk:
    def __init__(self, transactor: Transactor) -> None:
        self._transactor = transactor
        self._store = transactor.store

    async def events(self, after_seq: int, limit: int, event_filter: EventFilter) -> Sequence[StoredEvent]:
        return await asyncio.to_thread(self._store.events, after_seq, limit, event_filter)

    async def latest_events(self, count: int, event_filter: EventFilter) -> Sequence[StoredEvent]:
        """The oldest of them first."""
        return await asyncio.to_thread(self._store.latest_events, count, event_filter)

    def follow(
        self, after_seq: int | None, event_filter: EventFilter, last: int | None = None
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """After that event, or the last so many first; neither: from now on."""
        feed = self._transactor.feed
        if last is not None:
            return feed.follow_latest(last, event_filter)
        return feed.follow(feed.last_seq if after_seq is None else after_seq, event_filter)
