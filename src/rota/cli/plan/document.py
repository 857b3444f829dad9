"""A plan as data. Programs rely on its form: it must not change."""

from __future__ import annotations

from msgspec import Struct, field

from rota.cli.plan.view import PlanView
from rota.cli.reasons import ReasonEntry, reason_entries


class BindingEntry(Struct, frozen=True):
    job: str
    task: str
    node: str


class EvictionEntry(Struct, frozen=True):
    job: str
    task: str
    node: str
    preemptor: str | None = field(name="for")


class WaitingEntry(Struct, frozen=True):
    job: str
    verdict: str
    reasons: list[ReasonEntry]


class PlanDocument(Struct, frozen=True):
    bindings: list[BindingEntry]
    evictions: list[EvictionEntry]
    waiting: list[WaitingEntry]


def plan_document(view: PlanView) -> PlanDocument:
    bindings = [
        BindingEntry(view.job_name(one.job, one.rank), view.task_name(one.job, one.rank), one.node)
        for bound in view.bindings.values()
        for one in bound
    ]
    evictions = [
        EvictionEntry(
            view.job_name(one.job, one.rank),
            view.task_name(one.job, one.rank),
            one.node,
            view.preemptor_name(one),
        )
        for evicted in view.evictions.values()
        for one in evicted
    ]
    waiting = [
        WaitingEntry(name, entry.verdict.kind.value, reasons)
        for entry in view.plan.waiting
        for reasons in [reason_entries(entry.verdict)]
        for job_id in entry.jobs
        for name in view.waiting_names(job_id)
    ]
    # Sorting is stable: the tasks of a job stay in the order of their ranks.
    return PlanDocument(
        sorted(bindings, key=lambda one: one.job),
        sorted(evictions, key=lambda one: one.job),
        sorted(waiting, key=lambda one: one.job),
    )
