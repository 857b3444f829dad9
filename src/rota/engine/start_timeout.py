"""How long a job may wait for its first start: by its queue, or else by its scheduler.

What a job says itself (`start_within`) goes before either, and is the calendar's business: such a job is
planned by it. This is for all the others, of which there may be a million that are alike.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.engine.scope import turn_of
from rota.model.job import JobTemplate
from rota.model.policy import Policy, SchedulerPolicy


class TimeoutOwner(Enum):
    QUEUE = "queue"
    SCHEDULER = "scheduler"


class StartTimeout(Struct, frozen=True):
    within_ms: int
    owner: TimeoutOwner
    name: str


def has_timeouts(policy: Policy) -> bool:
    return any(
        one.timeout_ms is not None or any(queue.timeout_ms is not None for queue in one.queues)
        for one in policy.schedulers
    )


def timeout_for(template: JobTemplate, schedulers: tuple[SchedulerPolicy, ...]) -> StartTimeout | None:
    """None: it may wait for ever, or says itself for how long."""
    if template.start_within_ms is not None:
        return None
    turn = turn_of(template, schedulers)
    if turn is None:
        return None
    if turn.queue.timeout_ms is not None:
        return StartTimeout(turn.queue.timeout_ms, TimeoutOwner.QUEUE, turn.queue.name)
    if turn.scheduler.timeout_ms is not None:
        return StartTimeout(turn.scheduler.timeout_ms, TimeoutOwner.SCHEDULER, turn.scheduler.name)
    return None
