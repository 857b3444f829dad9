"""What an event says about attempts, for the store: each start of a task, from being bound to its end."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rota.lifecycle.events import Bound, Ended, JobEvent, Returned, Started
from rota.lifecycle.state import JobState
from rota.store.writing.batch import Attempt


def changed_attempts(before: JobState, after: JobState, event: JobEvent, at_ms: int) -> Iterator[Attempt]:
    match event:
        case Bound(seats):
            ranks = {seat.rank for seat in seats}
            for task in after.live:
                if task.rank in ranks:
                    yield Attempt(after.id, task.rank, task.fence, task.node, task.gpu_devices, task.bound_ms)
        case Started(rank, fence):
            yield replace(_attempt(before, rank, fence), started_ms=at_ms)
        case Ended(rank, fence, end):
            yield replace(_attempt(before, rank, fence), ended_ms=at_ms, end=end)
        case Returned(rank, fence):
            yield replace(_attempt(before, rank, fence), ended_ms=at_ms)


def _attempt(before: JobState, rank: int, fence: int) -> Attempt:
    task = before.task(rank)
    assert task is not None, (before.id, rank)
    assert task.fence == fence, (before.id, rank, fence)
    return Attempt(
        before.id, rank, fence, task.node, task.gpu_devices, task.bound_ms, started_ms=task.started_ms
    )
