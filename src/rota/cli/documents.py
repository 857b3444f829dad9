"""The form of what `-o json` and `-o yaml` print. Programs rely on it: fields are added, never changed."""

from __future__ import annotations

from msgspec import Struct, field

from rota.cli.plan_view import PlanView
from rota.cli.wording import reason_text, remedy_text
from rota.model.explanation import Explanation
from rota.model.verdict import Verdict


class BindingEntry(Struct, frozen=True):
    job: str
    task: str
    node: str


class EvictionEntry(Struct, frozen=True):
    job: str
    task: str
    node: str
    preemptor: str | None = field(name="for")


class ReasonEntry(Struct, frozen=True):
    plugin: str
    message: str
    nodes: int


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
        BindingEntry(view.job_name(one.job, one.rank), view.job(one.job).task_name(one.rank), one.node)
        for bound in view.bindings.values()
        for one in bound
    ]
    evictions = [
        EvictionEntry(
            view.job_name(one.job, one.rank),
            view.job(one.job).task_name(one.rank),
            one.node,
            view.preemptor_name(one),
        )
        for evicted in view.evictions.values()
        for one in evicted
    ]
    waiting = [
        WaitingEntry(name, entry.verdict.kind.value, reason_entries(entry.verdict))
        for entry in view.plan.waiting
        for job_id in entry.jobs
        for name in view.waiting_names(job_id)
    ]
    # Stable, so tasks of a job stay in the order of their ranks.
    return PlanDocument(
        sorted(bindings, key=lambda one: one.job),
        sorted(evictions, key=lambda one: one.job),
        sorted(waiting, key=lambda one: one.job),
    )


def reason_entries(verdict: Verdict) -> list[ReasonEntry]:
    return [
        ReasonEntry(refusal.reason.plugin, reason_text(refusal.reason), refusal.nodes)
        for refusal in verdict.refusals
    ]


class RefusalEntry(Struct, frozen=True):
    plugin: str
    message: str
    verdict: str
    unblocked_by: list[str]
    nodes: list[str]


class ScoreEntry(Struct, frozen=True):
    node: str
    total: float
    criteria: dict[str, float]


class RemedyEntry(Struct, frozen=True):
    change: str
    message: str
    starts_on: list[str]
    evicts: list[str]


class WhyDocument(Struct, frozen=True):
    job: str
    outcome: str
    verdict: str | None
    nodes: list[str]
    reasons: list[ReasonEntry]
    refusals: list[RefusalEntry]
    weights: dict[str, int]
    scores: list[ScoreEntry]
    remedies: list[RemedyEntry]


def why_document(name: str, explanation: Explanation) -> WhyDocument:
    verdict = explanation.verdict
    return WhyDocument(
        job=name,
        outcome=explanation.outcome.value,
        verdict=verdict.kind.value if verdict else None,
        nodes=list(explanation.nodes),
        reasons=reason_entries(verdict) if verdict else [],
        refusals=[
            RefusalEntry(
                refused.reason.plugin,
                reason_text(refused.reason),
                refused.reason.kind.value,
                [event.value for event in refused.reason.unblocked_by],
                list(refused.nodes),
            )
            for refused in explanation.refusals
        ],
        weights=dict(explanation.weights),
        scores=[ScoreEntry(one.node, one.total, dict(one.criteria)) for one in explanation.scores],
        remedies=[
            RemedyEntry(one.change.value, remedy_text(one), list(one.starts_on), list(one.evicts))
            for one in explanation.remedies
        ],
    )


class PluginEntry(Struct, frozen=True):
    name: str
    package: str
    version: str
    usable: bool
    fault: str


class VersionEntry(Struct, frozen=True):
    rota: str
    python: str
