"""A task failed by itself: what its job's policy makes of that."""

from __future__ import annotations

from rota.lifecycle.again import has_enough, rank_waits, restart
from rota.lifecycle.ending import bring_to_end, over
from rota.lifecycle.live import Live, staying, with_rank
from rota.lifecycle.outcome import Advanced
from rota.lifecycle.retry import may_retry, pause_ms
from rota.lifecycle.state import JobState, Phase, TaskEnd
from rota.model.causes import Cause
from rota.model.run import OnTaskFailure


def failed(state: JobState, live: Live, rank: int, end: TaskEnd, at_ms: int, chance: float) -> Advanced:
    """`live` are the others. A job of one task has no policy: it is retried, or has failed."""
    policy = state.spec.on_task_failure
    if state.spec.template.task_count == 1:
        policy = OnTaskFailure.RESTART_JOB
    match policy:
        case OnTaskFailure.FAIL_JOB:
            return _job_failed(state, live, rank, end, at_ms)
        case OnTaskFailure.CONTINUE:
            return _without_it(state, live, rank, end, at_ms)
        case OnTaskFailure.RESTART_TASK | OnTaskFailure.RESTART_JOB:
            if not may_retry(state, end):
                return _job_failed(state, live, rank, end, at_ms)
            again = rank_waits if policy is OnTaskFailure.RESTART_TASK else restart
            retries = state.retries + 1
            return again(
                state,
                live,
                at_ms,
                cause=Cause.RETRY,
                message=end.message,
                last_end=end,
                retries=retries,
                not_before_ms=at_ms + pause_ms(state.spec.retry, retries, chance),
            )


def _job_failed(state: JobState, live: Live, rank: int, end: TaskEnd, at_ms: int) -> Advanced:
    return bring_to_end(
        state,
        live,
        Phase.FAILED,
        Cause.TASK_FAILED,
        at_ms,
        end.message,
        done=with_rank(state.done, rank),
        failed=with_rank(state.failed, rank),
        last_end=end,
    )


def _without_it(state: JobState, live: Live, rank: int, end: TaskEnd, at_ms: int) -> Advanced:
    if not has_enough(state, staying(live)):
        return _job_failed(state, live, rank, end, at_ms)
    done, failed = with_rank(state.done, rank), with_rank(state.failed, rank)
    if len(done) == state.spec.template.task_count:
        return over(
            state,
            Phase.FAILED,
            at_ms,
            cause=Cause.TASK_FAILED,
            message=end.message,
            done=done,
            failed=failed,
            last_end=end,
        )
    return rank_waits(state, live, at_ms, done=done, failed=failed, last_end=end)
