"""Moments at which time alone changes what is to be decided, though nothing arrives and nothing ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rota.engine.scope import scheduler_for
from rota.engine.start_timeout import timeout_for
from rota.model.cluster import Calendar
from rota.model.job import Job, JobTemplate, Priority
from rota.model.node import Node
from rota.model.policy import Policy
from rota.model.taints import Effect, Taint, bears_until_ms


def of_calendar(calendar: Calendar) -> Iterator[int]:
    """When maintenance and reservations begin and end."""
    for window in calendar.maintenance:
        yield from (window.start_ms, window.end_ms)
    for reservation in calendar.reservations:
        yield from (reservation.start_ms, reservation.end_ms)


def of_waiting(job: Job, policy: Policy) -> Iterator[int]:
    """When it may start, when it is too late for it, and when it rises by a class."""
    if job.start_after_ms:
        yield job.start_after_ms
    if job.start_before_ms is not None:
        yield job.start_before_ms + 1
    if job.template.start_within_ms is not None:
        yield job.submitted_ms + job.template.start_within_ms + 1
    timeout = timeout_for(job.template, policy.schedulers)
    if timeout is not None:
        yield max(job.submitted_ms, job.start_after_ms) + timeout.within_ms + 1
    scheduler = scheduler_for(job.template, policy.schedulers)
    every_ms = scheduler.promotion.every_ms if scheduler else None
    if every_ms:
        for step in range(1, len(Priority) + 1):
            yield job.submitted_ms + step * every_ms


def evicting_taints(nodes: Iterable[Node]) -> tuple[Taint, ...]:
    taints = (taint for node in nodes for taint in node.spec.taints)
    return tuple({taint for taint in taints if taint.effect is Effect.NO_EXECUTE})


def of_taints(template: JobTemplate, taints: tuple[Taint, ...]) -> Iterator[int]:
    """When tasks that bear such taints for a while only have to go."""
    for taint in taints:
        for group in template.groups:
            until_ms = bears_until_ms(taint, group.spec.tolerations)
            if until_ms is not None:
                yield until_ms


def least_run_ms(template: JobTemplate, policy: Policy) -> int:
    """How long a job is left alone once it has started; after that others may take its room."""
    scheduler = scheduler_for(template, policy.schedulers)
    return scheduler.preemption.min_run_ms if scheduler and scheduler.preemption.enabled else 0
