"""An explanation as data."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from rota.model.explanation import NOW, Remedy
from rota.views.estimates import StartEstimate, start_estimate
from rota.views.reasons import ReasonEntry, reason_entries
from rota.views.times import utc_text
from rota.views.why.view import WhyView
from rota.views.wording import reason_text, remedy_text


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
    start: str | None
    """When it would then start; null: once there is room."""
    starts_on: list[str]
    evicts: list[str]


class WhyDocument(Struct, frozen=True):
    job: str
    outcome: str
    verdict: str | None
    start: str | None
    """Of a job that waits, when it is planned to start."""
    promised: bool
    nodes: list[str]
    reasons: list[ReasonEntry]
    refusals: list[RefusalEntry]
    weights: dict[str, int]
    scores: list[ScoreEntry]
    remedies: list[RemedyEntry]
    cut_short: bool = False
    """Time was up before all that could help was tried."""
    estimate: StartEstimate | UnsetType | None = UNSET
    """Only where there is a history to learn from; null: nothing is known, or needs to be."""


def why_document(view: WhyView, now_ms: int) -> WhyDocument:
    explanation = view.explanation
    verdict = explanation.verdict
    return WhyDocument(
        job=view.name,
        outcome=view.outcome.value,
        verdict=verdict.kind.value if verdict else None,
        start=_start_text(explanation.start_ms, now_ms),
        promised=explanation.promised,
        nodes=list(view.nodes),
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
        remedies=[remedy_entry(one, now_ms) for one in explanation.remedies],
        cut_short=explanation.is_cut_short,
        estimate=_estimate(view),
    )


def remedy_entry(remedy: Remedy, now_ms: int) -> RemedyEntry:
    return RemedyEntry(
        remedy.change.code,
        remedy_text(remedy),
        _start_text(remedy.start_ms, now_ms),
        list(remedy.starts_on),
        list(remedy.evicts),
    )


def _estimate(view: WhyView) -> StartEstimate | UnsetType | None:
    if not view.has_history:
        return UNSET
    return None if view.estimate is None else start_estimate(view.estimate)


def _start_text(start_ms: int | None, now_ms: int) -> str | None:
    if start_ms is None:
        return None
    return utc_text(now_ms if start_ms == NOW else start_ms)
