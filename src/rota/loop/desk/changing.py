"""What commands have in common: a job is changed as it stands by now, and the answer kept with the change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import Conflict
from rota.control.transactor import SLICE, Sliced
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import JobEvent
from rota.lifecycle.state import JobState
from rota.model.ids import JobId
from rota.store.batch import Answer

R = TypeVar("R")


def change(draft: Draft, job_id: JobId, event: JobEvent, who: Who) -> None:
    """As it stands by now."""
    try:
        if draft.job(job_id) is not None:
            draft.change(job_id, event, who.user)
            return
    except Refused as refused:
        raise Conflict(str(refused), f"ask for job {job_id} to see its state") from None
    raise Conflict(f"job {job_id} is over", f"ask for job {job_id} to see how it ended")


def answer_many(
    draft: Draft, answer_of: Callable[[Sequence[JobState]], Answer] | None, states: Sequence[JobState]
) -> Sliced[None]:
    if answer_of is None:
        return
    make = partial(answer_of, states)
    draft.batch.answers.append(make() if len(states) <= SLICE else (yield make))


def answer(draft: Draft, answer_of: Callable[[R], Answer] | None, result: R) -> None:
    if answer_of is not None:
        draft.batch.answers.append(answer_of(result))
