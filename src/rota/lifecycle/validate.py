"""What must hold of a job in each phase. Tests ask it after every event; a server can be told to as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rota.lifecycle.state import TERMINAL, JobState, Phase, TaskPhase
from rota.model.causes import Cause


class ImpossibleState(Exception):
    """A state that no sequence of events leads to: a fault of Rota."""


def validate(state: JobState) -> None:
    broken = [*_always(state), *_OF_PHASE[state.phase](state)]
    if broken:
        raise ImpossibleState(f"job {state.id} is {state.phase.value}, but {'; '.join(broken)}")


Rules = Iterable[tuple[bool, str]]


def _broken(rules: Rules) -> list[str]:
    return [complaint for holds, complaint in rules if not holds]


def _always(state: JobState) -> list[str]:
    ranks = [task.rank for task in state.live]
    fences = [task.fence for task in state.live]
    used = {*ranks, *state.done}
    count = state.spec.template.task_count
    return _broken(
        [
            (ranks == sorted(set(ranks)), "its live tasks aren't in the order of their ranks"),
            (list(state.done) == sorted(set(state.done)), "what is done isn't in order"),
            (list(state.failed) == sorted(set(state.failed)), "what failed isn't in order"),
            (set(state.failed) <= set(state.done), "a rank failed that isn't done"),
            (len(used) == len(ranks) + len(state.done), "a rank is live and done"),
            (all(0 <= rank < count for rank in used), "a rank is none of its tasks'"),
            (len(set(fences)) == len(fences), "two tasks have the same fence"),
            (all(0 < fence <= state.fence for fence in fences), "a fence was never given out"),
            (state.attempt >= 1, "it was never tried"),
            (0 <= state.retries <= state.spec.retry.limit, "it was retried more often than it may be"),
            (state.is_over == (state.phase in TERMINAL), "it has an end and goes on, or the reverse"),
            (all(_task_can_be(task.phase, task.started_ms) for task in state.live), "a task runs unstarted"),
            (
                all(task.phase is TaskPhase.STOPPING for task in state.live if task.evicted),
                "an evicted task isn't told to stop",
            ),
            (
                all(task.phase is not TaskPhase.BOUND for task in state.live if task.roomless),
                "a task is to start where it has no room",
            ),
        ]
    )


def _task_can_be(phase: TaskPhase, started_ms: int | None) -> bool:
    match phase:
        case TaskPhase.BOUND | TaskPhase.STANDBY:
            return started_ms is None
        case TaskPhase.RUNNING:
            return started_ms is not None
        case TaskPhase.STOPPING:
            return True


def _created(state: JobState) -> list[str]:
    is_kept_back = state.held or bool(state.depends_on)
    return _broken(
        [
            *_has_no_room(state),
            (is_kept_back, "nothing keeps it back"),
            (state.cause in (Cause.HELD, Cause.DEPENDENCY), "nobody is told what keeps it back"),
            (state.promise is None, "it is promised a start"),
        ]
    )


def _pending(state: JobState) -> list[str]:
    return _broken(
        [
            *_has_no_room(state),
            *_may_start(state),
            (len(state.done) < state.spec.template.task_count, "none of its tasks waits"),
        ]
    )


def _scheduled(state: JobState) -> list[str]:
    return _broken(
        [
            *_has_room(state),
            *_may_start(state),
            (all(task.started_ms is None for task in state.live), "one of its tasks has started"),
        ]
    )


def _running(state: JobState) -> list[str]:
    return _broken(
        [
            *_has_room(state),
            *_may_start(state),
            (state.started_ms is not None, "it never started"),
        ]
    )


def _succeeded(state: JobState) -> list[str]:
    return _broken(
        [
            *_is_over(state),
            (len(state.done) == state.spec.template.task_count, "not all of its tasks are done"),
            (not state.failed, "one of its tasks failed"),
            (state.cause is None, "it has a cause"),
        ]
    )


def _failed(state: JobState) -> list[str]:
    return _broken([*_is_over(state), (state.cause is not None, "nobody is told why")])


def _cancelled(state: JobState) -> list[str]:
    known = state.cause in (Cause.BY_USER, Cause.DEPENDENCY_FAILED)
    return _broken([*_is_over(state), (known, "neither by somebody nor by another job")])


def _timed_out(state: JobState) -> list[str]:
    known = state.cause in (Cause.TIME_LIMIT, Cause.DEADLINE)
    return _broken([*_is_over(state), (known, "neither by its limit nor by its deadline")])


def _has_no_room(state: JobState) -> Rules:
    yield not state.live, "one of its tasks is live"
    yield not state.is_stopping, "it is stopping"


def _may_start(state: JobState) -> Rules:
    yield not state.held, "it is held"
    yield not state.depends_on, "it waits for other jobs"


def _has_room(state: JobState) -> Rules:
    yield bool(state.live), "none of its tasks is live"
    yield not (state.restarting and state.ending), "it both ends and begins anew"
    yield state.ending is not Phase.SUCCEEDED, "it is stopped in order to succeed"
    yield state.ending is None or state.ending in TERMINAL, "it stops in order to go on"
    if state.is_stopping:
        told = all(task.phase is TaskPhase.STOPPING for task in state.live)
        yield told, "it stops, and one of its tasks wasn't told"
        yield state.promise is None, "it stops, and is promised a start"


def _is_over(state: JobState) -> Rules:
    yield not state.live, "one of its tasks is live"
    yield not state.is_stopping, "it is still stopping"
    yield state.promise is None, "it is promised a start"


_OF_PHASE: dict[Phase, Callable[[JobState], list[str]]] = {
    Phase.CREATED: _created,
    Phase.PENDING: _pending,
    Phase.SCHEDULED: _scheduled,
    Phase.RUNNING: _running,
    Phase.SUCCEEDED: _succeeded,
    Phase.FAILED: _failed,
    Phase.CANCELLED: _cancelled,
    Phase.TIMED_OUT: _timed_out,
}
