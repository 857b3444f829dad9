"""Bugs about what is on disk, and who may write it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.store.sql import database, leases
from rota.store.store import Store
from rota.store.writing.batch import Batch


@contextmanager
def batches_are_kept_in_two_transactions() -> Iterator[None]:
    commit = Store.commit

    def in_halves(self: Store, batch: Batch) -> int:
        attempts, batch.attempts = batch.attempts, []
        try:
            last_seq = commit(self, batch)
            commit(self, Batch(attempts=attempts))
        finally:
            batch.attempts = attempts
        return last_seq

    with patch.object(Store, "commit", in_halves):
        yield


@contextmanager
def commits_are_not_synced() -> Iterator[None]:
    def prepare(engine: Any, begin: str, cache_kib: int, *more: str) -> None:
        careful(engine, begin, cache_kib, *more, "PRAGMA synchronous = OFF")

    careful = database._prepare_sqlite
    with patch.object(database, "_prepare_sqlite", prepare):
        yield


@contextmanager
def leaders_write_without_their_token() -> Iterator[None]:
    with patch.object(leases, "ensure_led", lambda connection, leadership: None):
        yield
