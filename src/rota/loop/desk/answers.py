"""Answers that are kept for idempotency keys, in the same transaction as the change that they are about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from rota.control.draft import Draft
from rota.control.slices import SLICE, Sliced
from rota.lifecycle.state import JobState
from rota.store.reading.reader import StoreReader
from rota.store.writing.batch import Answer

R = TypeVar("R")
AnswerOf = Callable[[R], Answer] | None
"""Makes the answer to keep from a result; None: the request had no key."""


class AnswersDesk:
    def __init__(self, store: StoreReader) -> None:
        self._store = store

    async def answer(self, scope: str, key: str) -> Answer | None:
        return await asyncio.to_thread(self._store.answer, scope, key)


def keep_answer(draft: Draft, answer_of: AnswerOf[R], result: R) -> None:
    if answer_of is not None:
        draft.batch.answers.append(answer_of(result))


def keep_answer_of_many(
    draft: Draft, answer_of: AnswerOf[Sequence[JobState]], states: Sequence[JobState]
) -> Sliced[None]:
    """A long answer is made in a thread."""
    if answer_of is None:
        return
    make = partial(answer_of, states)
    draft.batch.answers.append(make() if len(states) <= SLICE else (yield make))
