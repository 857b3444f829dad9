"""Which scheduler a job belongs to, and which queue of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from rota.model.job import JobTemplate
from rota.model.policy import QueuePolicy, SchedulerPolicy


def queues_by_name(scheduler: SchedulerPolicy) -> dict[str, QueuePolicy]:
    return {queue.name: queue for queue in scheduler.queues}


def queue_of(name: str, known: Mapping[str, QueuePolicy]) -> QueuePolicy:
    """A queue that the policy doesn't name works like the default one."""
    return known.get(name) or replace(known.get("default", QueuePolicy()), name=name, pools=())


def queue_named(name: str, scheduler: SchedulerPolicy) -> QueuePolicy:
    return queue_of(name, queues_by_name(scheduler))


def scheduler_for(template: JobTemplate, schedulers: tuple[SchedulerPolicy, ...]) -> SchedulerPolicy | None:
    """The one that the job names, or the first whose scope it is in. Where there is only one,
    names don't matter."""
    for scheduler in schedulers:
        in_scope = not scheduler.namespaces or template.namespace in scheduler.namespaces
        named = len(schedulers) == 1 or template.scheduler in ("", scheduler.name)
        if in_scope and named:
            return scheduler
    return None
