"""Bugs of control: what is kept, what is told, and what is remembered."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

from rota.control.draft import Draft
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.reports import Reports
from rota.control.transactor import Transactor
from rota.store.errors import StoreUnavailable
from rota.store.writing.batch import Batch


def _finished(result: Any) -> Any:
    """What a command answers; one that takes long is gone through to its end."""
    if not isinstance(result, Generator):
        return result
    sent = None
    while True:
        try:
            wanted = result.send(sent)
        except StopIteration as end:
            return end.value
        sent = None if wanted is None else wanted()


@contextmanager
def acknowledges_before_commit() -> Iterator[None]:
    turn = Transactor._turn

    async def hasty(self: Transactor, taken: list[Any]) -> None:
        for asked in taken:
            if not asked.is_repeatable and not asked.answer.done():
                # What fails is answered as it should be.
                with suppress(Exception):
                    draft = Draft(self.memory, self.now_ms(), self._chance)
                    asked.answer.set_result(_finished(asked.command(draft)))
        await turn(self, taken)

    with patch.object(Transactor, "_turn", hasty):
        yield


@contextmanager
def carries_out_before_commit() -> Iterator[None]:
    keep = Transactor._keep

    async def hasty(self: Transactor, batch: Batch) -> int:
        last_seq = self.feed.last_seq + len(batch.events)
        try:
            return await keep(self, batch)
        except StoreUnavailable:
            # Taken for kept, whatever the store says.
            return last_seq

    with patch.object(Transactor, "_keep", hasty):
        yield


@contextmanager
def memory_stays_behind() -> Iterator[None]:
    async def no_reload(self: Transactor, taken: list[Any]) -> bool:
        self._is_behind = False
        return True

    with patch.object(Transactor, "_reload", no_reload):
        yield


@contextmanager
def feed_skips_what_it_did_not_publish() -> Iterator[None]:
    follow = Feed.follow

    def forgetful(self: Feed, after_seq: int, wanted: Any) -> Any:
        return follow(self, max(after_seq, self.last_seq), wanted)

    with patch.object(Feed, "follow", forgetful):
        yield


@contextmanager
def reports_are_given_up() -> Iterator[None]:
    keep = Reports.keep

    async def once(self: Reports, reports: Sequence[Any]) -> list[Any]:
        if self._transactor.fault:
            return []
        return await keep(self, reports)

    with patch.object(Reports, "keep", once):
        yield


@contextmanager
def attempts_are_not_kept() -> Iterator[None]:
    sealed = Draft.sealed

    def without_some(self: Draft) -> Batch:
        batch = sealed(self)
        batch.attempts = [one for one in batch.attempts if one.end is None or not one.end.succeeded]
        return batch

    with patch.object(Draft, "sealed", without_some):
        yield


@contextmanager
def dependents_are_lost_at_a_restart() -> Iterator[None]:
    load = Memory.load

    def forgetful(self: Memory, loaded: Any) -> None:
        load(self, loaded)
        self._dependents.clear()

    with patch.object(Memory, "load", forgetful):
        yield
