"""Why a job is in its phase: what is left of a reason once it has had its effect. Databases and REST answers
hold a cause by its value; `message` beside it is what somebody said."""

from __future__ import annotations

from enum import Enum

from rota.model.plan import EvictionCause


class Cause(Enum):
    """Why a job is in its phase, where the phase alone doesn't say. Text is made at the edge."""

    HELD = "held"
    DEPENDENCY = "dependency"
    """Waits for another job to end."""
    DEPENDENCY_FAILED = "dependency-failed"
    """The other job ended in a way that it never can start after."""
    TASK_FAILED = "task-failed"
    RETRY = "retry"
    PREEMPTED = "preempted"
    TAINT = "taint"
    """Its node no longer bears it."""
    NODE_LOST = "node-lost"
    BY_USER = "by-user"
    START_MISSED = "start-missed"
    START_TIMEOUT = "start-timeout"
    """It waited for longer than its queue or scheduler lets jobs wait."""
    DEADLINE = "deadline"
    TIME_LIMIT = "time-limit"
    MAINTENANCE = "maintenance"
    SET_ASIDE = "set-aside"
    """Rota couldn't handle it; `message` says why."""
    INPUT_LOST = "input-lost"
    """What it was sent to read went to a start that was lost or evicted: it can't be started again."""


def cause_of_eviction(cause: EvictionCause) -> Cause:
    """Why a job waits that was evicted; until the next cycle the plan says it by `reason_of_eviction`."""
    match cause:
        case EvictionCause.PREEMPTED | EvictionCause.RECLAIMED:
            return Cause.PREEMPTED
        case EvictionCause.TAINT:
            return Cause.TAINT
        case EvictionCause.MAINTENANCE:
            return Cause.MAINTENANCE
