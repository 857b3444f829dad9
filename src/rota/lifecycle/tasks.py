"""What nodes report of tasks: started, ended, given back."""

from __future__ import annotations

from msgspec.structs import replace

from rota.lifecycle.again import has_enough, rank_waits, restart
from rota.lifecycle.ending import bring_to_end, over
from rota.lifecycle.events import Ended, Returned, Started
from rota.lifecycle.failure import failed
from rota.lifecycle.input import has_read_input, without_its_input
from rota.lifecycle.live import Live, exchanged, position_of, staying, with_rank, without
from rota.lifecycle.outcome import Advanced, Objection, Refused
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd, TaskPhase
from rota.model.causes import Cause
from rota.model.run import OnTaskFailure


def started(state: JobState, event: Started, at_ms: int) -> Advanced:
    position = position_of(state, event.rank, event.fence)
    task = state.live[position]
    if task.started_ms is not None:
        raise Refused(Objection.STARTED_BEFORE, f"task {task.rank} of job {state.id} has started before")
    phase = TaskPhase.STOPPING if task.phase is TaskPhase.STOPPING else TaskPhase.RUNNING
    live = exchanged(state.live, position, replace(task, phase=phase, started_ms=at_ms))
    if state.phase is Phase.RUNNING:
        return Advanced(replace(state, live=live))
    started_ms = at_ms if state.started_ms is None else state.started_ms
    return Advanced(replace(state, phase=Phase.RUNNING, changed_ms=at_ms, live=live, started_ms=started_ms))


def returned(state: JobState, event: Returned, at_ms: int) -> Advanced:
    position = position_of(state, event.rank, event.fence)
    task = state.live[position]
    if task.started_ms is not None:
        raise Refused(
            Objection.STARTED_BEFORE,
            f"task {task.rank} of job {state.id} can't be given back: it runs",
        )
    live = without(state.live, position)
    if state.ending is not None:
        return _one_less(state, state.ending, live, state.done, at_ms)
    return rank_waits(state, live, at_ms)


def ended(state: JobState, event: Ended, at_ms: int, chance: float) -> Advanced:
    position = position_of(state, event.rank, event.fence)
    task, end = state.live[position], event.end
    live = without(state.live, position)
    done = with_rank(state.done, task.rank) if end.succeeded else state.done
    if state.ending is not None:
        return _one_less(state, state.ending, live, done, at_ms)
    if end.succeeded:
        return _succeeded(state, live, done, end, at_ms)
    if end.reason is EndReason.TIME_LIMIT:
        return _timed_out(state, live, task.rank, end, at_ms)
    if task.phase is TaskPhase.STOPPING:
        return rank_waits(state, live, at_ms)
    if end.reason in (EndReason.LOST, EndReason.STOPPED):
        if has_read_input(state, task):
            return without_its_input(state, live, at_ms, end.message, last_end=end)
        return _lost(state, live, end, at_ms)
    return failed(state, live, task.rank, end, at_ms, chance)


def _succeeded(state: JobState, live: Live, done: tuple[int, ...], end: TaskEnd, at_ms: int) -> Advanced:
    if live or len(done) < state.spec.template.task_count:
        return rank_waits(state, live, at_ms, done=done)
    if state.failed:
        return over(state, Phase.FAILED, at_ms, done=done, cause=Cause.TASK_FAILED)
    return over(state, Phase.SUCCEEDED, at_ms, done=done, cause=None, message=end.message, last_end=end)


def _one_less(state: JobState, ending: Phase, live: Live, done: tuple[int, ...], at_ms: int) -> Advanced:
    """Of a job that ends once all its tasks have."""
    if live:
        return Advanced(replace(state, live=live, done=done))
    return over(state, ending, at_ms, done=done)


def _timed_out(state: JobState, live: Live, rank: int, end: TaskEnd, at_ms: int) -> Advanced:
    return bring_to_end(
        state,
        live,
        Phase.TIMED_OUT,
        Cause.TIME_LIMIT,
        at_ms,
        end.message,
        done=with_rank(state.done, rank),
        failed=with_rank(state.failed, rank),
        last_end=end,
    )


def _lost(state: JobState, live: Live, end: TaskEnd, at_ms: int) -> Advanced:
    """Nobody's fault: it runs again, and no retry is counted."""
    template = state.spec.template
    restarts_task = template.task_count > 1 and state.spec.on_task_failure is OnTaskFailure.RESTART_TASK
    again = rank_waits if restarts_task or has_enough(state, staying(live)) else restart
    return again(state, live, at_ms, cause=Cause.NODE_LOST, message=end.message, last_end=end)
