"""The tasks of a job that have a node: finding them, changing them, telling them to stop."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from operator import attrgetter

from msgspec.structs import replace

from rota.lifecycle.instructions import StopTask
from rota.lifecycle.outcome import Objection, Refused
from rota.lifecycle.state import JobState, LiveTask, TaskPhase

Live = tuple[LiveTask, ...]

_RANK = attrgetter("rank")


def position_of(state: JobState, rank: int, fence: int) -> int:
    """Where in `live` the task is that a report with this fence is about."""
    live = state.live
    position = 0 if len(live) == 1 else bisect_left(live, rank, key=_RANK)
    if position < len(live):
        task = live[position]
        if task.fence == fence and task.rank == rank:
            return position
    known_rank(state, rank)
    raise Refused(
        Objection.STALE_FENCE, f"job {state.id}: task {rank} doesn't run under fence {fence} (any more)"
    )


def known_rank(state: JobState, rank: int) -> None:
    count = state.spec.template.task_count
    if not 0 <= rank < count:
        raise Refused(Objection.UNKNOWN_RANK, f"job {state.id} has {count} tasks: none has rank {rank}")


def without(live: Live, position: int) -> Live:
    return live[:position] + live[position + 1 :]


def exchanged(live: Live, position: int, task: LiveTask) -> Live:
    return (*live[:position], task, *live[position + 1 :])


def with_rank(ranks: tuple[int, ...], rank: int) -> tuple[int, ...]:
    position = bisect_left(ranks, rank)
    return (*ranks[:position], rank, *ranks[position:])


def staying(live: Live) -> int:
    """How many of them haven't been told to stop."""
    return sum(task.phase is not TaskPhase.STOPPING for task in live)


def told_to_stop(live: Live) -> Live:
    return tuple(replace(task, phase=TaskPhase.STOPPING) for task in live)


def stops(state: JobState, live: Live, ranks: Collection[int] | None = None) -> tuple[StopTask, ...]:
    """For all of them, or those with these ranks; also if they were told before: they may not have heard."""
    return tuple(
        StopTask(state.id, task.rank, task.fence, task.node)
        for task in live
        if ranks is None or task.rank in ranks
    )
