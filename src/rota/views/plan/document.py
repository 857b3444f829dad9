"""A plan as data. Programs rely on its form: what is there must not change."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, Struct, UnsetType, field

from rota.api.questions import ReasonEntry
from rota.views.estimates import start_estimate
from rota.views.plan.view import PlanView
from rota.views.reasons import reason_entries
from rota.views.times import utc_text


class BindingEntry(Struct, frozen=True):
    job: str
    task: str
    node: str


class EvictionEntry(Struct, frozen=True, omit_defaults=True):
    job: str
    task: str
    node: str
    preemptor: str | None = field(name="for")
    ends_job: bool = False


class WaitingEntry(Struct, frozen=True):
    job: str
    verdict: str
    reasons: list[ReasonEntry]


class StartEntry(Struct, frozen=True):
    job: str
    start: str
    nodes: list[str]
    """By rank."""
    promised: bool


class EstimateEntry(Struct, frozen=True):
    job: str
    expected: str
    bound: str
    latest: str | None


class PlanDocument(Struct, frozen=True):
    bindings: list[BindingEntry]
    evictions: list[EvictionEntry]
    waiting: list[WaitingEntry]
    starts: list[StartEntry]
    estimates: list[EstimateEntry] | UnsetType = UNSET
    """Only where there is a history to learn from."""


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
            one.ends_job,
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
    starts = [
        StartEntry(name, utc_text(planned.start_ms), nodes, planned.promised)
        for planned in view.starts.values()
        for name, nodes in view.planned_nodes(planned).items()
    ]
    # Sorting is stable: the tasks of a job stay in the order of their ranks.
    return PlanDocument(
        sorted(bindings, key=lambda one: one.job),
        sorted(evictions, key=lambda one: one.job),
        sorted(waiting, key=lambda one: one.job),
        sorted(starts, key=lambda one: one.job),
        UNSET if view.estimates is None else sorted(_estimates(view), key=lambda one: one.job),
    )


def _estimates(view: PlanView) -> Iterator[EstimateEntry]:
    for job_id, told in (view.estimates or {}).items():
        start = start_estimate(told)
        for name in view.waiting_names(job_id):
            yield EstimateEntry(name, start.expected, start.bound, start.latest)
