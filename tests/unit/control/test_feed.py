"""Events for whoever follows them, from the latest few on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rota.control.feed import Feed
from rota.store.reading.event_list import ALL_EVENTS, EventFilter
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch, EventRow, StoredEvent
from tests.stored import event


def keep(store: Store, *rows: EventRow) -> list[StoredEvent]:
    last_seq = store.commit(Batch(events=list(rows)))
    return [StoredEvent(last_seq - len(rows) + 1 + at, row) for at, row in enumerate(rows)]


def seqs(events: object) -> list[int]:
    assert isinstance(events, list)
    return [one.seq for one in events]


def test_the_latest_few_and_what_follows(tmp_path: Path) -> None:
    async def test(store: Store) -> None:
        keep(store, event("a"), event("b"), event("a"), event("b"), event("a"))
        feed = Feed(store, 5)
        followed = feed.follow_latest(2, EventFilter(kinds=("a",)))
        assert seqs(await anext(followed)) == [3, 5]
        feed.publish(keep(store, event("b"), event("a")))
        assert seqs(await anext(followed)) == [7]

    with open_store(f"sqlite:///{tmp_path}/rota.db") as store:
        asyncio.run(test(store))


def test_what_is_stored_and_not_published_yet_is_told_once(tmp_path: Path) -> None:
    async def test(store: Store) -> None:
        feed = Feed(store, 0)
        stored = keep(store, event("a"))
        followed = feed.follow_latest(10, ALL_EVENTS)
        assert seqs(await anext(followed)) == [1]
        feed.publish(stored)
        feed.publish(keep(store, event("b")))
        assert seqs(await anext(followed)) == [2]

    with open_store(f"sqlite:///{tmp_path}/rota.db") as store:
        asyncio.run(test(store))


def test_where_nothing_is_found_it_goes_on_from_when_it_was_asked(tmp_path: Path) -> None:
    async def test(store: Store) -> None:
        keep(store, event("b"))
        feed = Feed(store, 1)
        followed = feed.follow_latest(10, EventFilter(kinds=("a",)))
        first = asyncio.ensure_future(anext(followed))
        await asyncio.sleep(0)
        feed.publish(keep(store, event("a")))
        assert seqs(await first) == [2]

    with open_store(f"sqlite:///{tmp_path}/rota.db") as store:
        asyncio.run(test(store))
