"""Which scheduler a job belongs to, and which queue of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from rota.model.job import JobTemplate
from rota.model.policy import Promotion, QueuePolicy, SchedulerPolicy


@dataclass(frozen=True, eq=False, slots=True)
class Turn:
    """Whose turn it is: what is decided is decided for jobs of this queue, by the rules of this scheduler."""

    scheduler: SchedulerPolicy
    queue: QueuePolicy


NOBODYS_TURN = Turn(SchedulerPolicy(name=""), QueuePolicy())
"""For jobs that no scheduler is in charge of."""


def queues_by_name(scheduler: SchedulerPolicy) -> dict[str, QueuePolicy]:
    return {queue.name: queue for queue in scheduler.queues}


def queue_of(name: str, known: Mapping[str, QueuePolicy]) -> QueuePolicy:
    """A queue that the policy doesn't name works like the default one."""
    return known.get(name) or replace(known.get("default", QueuePolicy()), name=name, pools=())


def queue_named(name: str, scheduler: SchedulerPolicy) -> QueuePolicy:
    return queue_of(name, queues_by_name(scheduler))


def turn_of(template: JobTemplate, schedulers: tuple[SchedulerPolicy, ...]) -> Turn | None:
    scheduler = scheduler_for(template, schedulers)
    return None if scheduler is None else Turn(scheduler, queue_named(template.queue, scheduler))


def promotion_for(template: JobTemplate, schedulers: tuple[SchedulerPolicy, ...]) -> Promotion:
    scheduler = scheduler_for(template, schedulers)
    return scheduler.promotion if scheduler else Promotion()


def scheduler_for(template: JobTemplate, schedulers: tuple[SchedulerPolicy, ...]) -> SchedulerPolicy | None:
    """The one that the job names, or the first whose scope it is in. Where there is only one,
    names don't matter."""
    for scheduler in schedulers:
        in_scope = not scheduler.namespaces or template.namespace in scheduler.namespaces
        named = len(schedulers) == 1 or template.scheduler in ("", scheduler.name)
        if in_scope and named:
            return scheduler
    return None
