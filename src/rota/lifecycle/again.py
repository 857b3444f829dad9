"""Tasks that are to run again: some of them while the others go on, or the job as a whole."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rota.lifecycle.ending import bring_to_end
from rota.lifecycle.events import Evicted
from rota.lifecycle.input import has_read_input, without_its_input
from rota.lifecycle.live import Live, known_rank, staying, stops, told_to_stop
from rota.lifecycle.outcome import Advanced, Objection, Refused
from rota.lifecycle.state import JobState, Phase, TaskPhase
from rota.model.causes import cause_of_eviction


def has_enough(state: JobState, count: int) -> bool:
    """Whether the job can go on with so many tasks that run, and those that have succeeded."""
    return count + len(state.done) - len(state.failed) >= state.spec.template.min_count


def rank_waits(state: JobState, live: Live, at_ms: int, **changes: Any) -> Advanced:
    """A rank that isn't in `live` any more waits again; those that are go on."""
    if live:
        return Advanced(replace(state, live=live, **changes))
    if state.restarting:
        return job_waits(replace(state, **changes), at_ms)
    return Advanced(replace(state, phase=Phase.PENDING, changed_ms=at_ms, live=(), **changes))


def job_waits(state: JobState, at_ms: int, **changes: Any) -> Advanced:
    """The whole job begins anew: also what was done, since the tasks of a gang need each other."""
    again = replace(
        state,
        phase=Phase.PENDING,
        changed_ms=at_ms,
        live=(),
        done=(),
        failed=(),
        attempt=state.attempt + 1,
        restarting=False,
        **changes,
    )
    return Advanced(again)


def restart(state: JobState, live: Live, at_ms: int, **changes: Any) -> Advanced:
    """The whole job begins anew, once all its tasks have stopped."""
    if not live:
        return job_waits(state, at_ms, **changes)
    stopping = replace(state, live=told_to_stop(live), restarting=True, promise=None, **changes)
    return Advanced(stopping, stops(state, live))


def evicted(state: JobState, event: Evicted, at_ms: int) -> Advanced:
    """Tasks that have ended meanwhile are passed over: what is left of them has to make room all the same."""
    ranks = _evictable(state, event.ranks)
    cause = cause_of_eviction(event.cause)
    live = tuple(
        replace(task, phase=TaskPhase.STOPPING, evicted=True) if task.rank in ranks else task
        for task in state.live
    )
    if state.ending is not None or (state.restarting and not event.ends_job):
        return Advanced(replace(state, live=live), stops(state, live, ranks))
    if event.ends_job:
        return bring_to_end(state, live, Phase.FAILED, cause, at_ms)
    if any(task.rank in ranks and has_read_input(state, task) for task in live):
        return without_its_input(state, live, at_ms)
    preempted_by = state.preempted_by
    if event.preemptor and event.preemptor not in preempted_by:
        preempted_by = (*preempted_by, event.preemptor)
    if not has_enough(state, staying(live)):
        return restart(state, live, at_ms, cause=cause, preempted_by=preempted_by)
    changed = replace(state, live=live, cause=cause, preempted_by=preempted_by)
    return Advanced(changed, stops(state, live, ranks))


def _evictable(state: JobState, ranks: tuple[int, ...]) -> set[int]:
    for rank in ranks:
        known_rank(state, rank)
    found = {task.rank for task in state.live if task.rank in ranks and not task.evicted}
    if not found:
        raise Refused(
            Objection.NOT_LIVE, f"job {state.id}: none of the tasks {list(ranks)} runs, or all are evicted"
        )
    return found
