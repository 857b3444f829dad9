"""An explanation as the document that users get: by REST, with `-o json`, and as what tables are made of."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from rota.api.questions import (
    OwnerEntry,
    PluginFaultEntry,
    RefusalEntry,
    RemedyEntry,
    ScoreEntry,
    StartEstimate,
    WhyDocument,
)
from rota.model.explanation import NOW, RefusedNodes, Remedy
from rota.views.estimates import start_estimate
from rota.views.needed_node import needed_node_text
from rota.views.reasons import reason_entries, timed_text
from rota.views.times import utc_text
from rota.views.why.view import WhyView
from rota.views.wording import passing_text, priority_text, remedy_text, request_text


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
        reasons=reason_entries(verdict, with_times=True) if verdict else [],
        refusals=[_refusal(one) for one in explanation.refusals],
        weights=dict(explanation.weights),
        scores=[
            ScoreEntry(one.node, one.total, dict(one.criteria), one.node in explanation.nodes[:1])
            for one in explanation.scores
        ],
        remedies=[remedy_entry(one, now_ms) for one in explanation.remedies],
        cut_short=explanation.is_cut_short,
        estimate=_estimate(view),
        at=utc_text(now_ms),
        request=request_text(view.job),
        priority=priority_text(view.job.template.priority),
        task_of=_owner(view),
        evicts=[eviction.job for eviction in view.evictions],
        evicted_from=list(view.evicted_from),
        faults=_faults(view),
        waits_for_node=needed_node_text(view.job) if verdict is not None and verdict.awaits_nodes else "",
    )


def remedy_entry(remedy: Remedy, now_ms: int) -> RemedyEntry:
    return RemedyEntry(
        remedy.change.code,
        remedy_text(remedy),
        _start_text(remedy.start_ms, now_ms),
        list(remedy.starts_on),
        list(remedy.evicts),
    )


def _refusal(refused: RefusedNodes) -> RefusalEntry:
    reason = refused.reason
    message, times = timed_text(reason)
    return RefusalEntry(
        reason.plugin,
        message,
        reason.kind.value,
        [event.value for event in reason.unblocked_by],
        list(refused.nodes),
        passing_text(reason),
        times,
    )


def _faults(view: WhyView) -> list[PluginFaultEntry]:
    """Each once: equal jobs are decided on together, and a fault is put down to one of them."""
    faults = view.explanation.faults
    return list(dict.fromkeys(PluginFaultEntry(one.plugin, one.call, one.error) for one in faults))


def _owner(view: WhyView) -> OwnerEntry | None:
    if not view.is_task:
        return None
    return OwnerEntry("gang" if view.job.tasks_are_jobs else "job", view.job.id)


def _estimate(view: WhyView) -> StartEstimate | UnsetType | None:
    if not view.has_history:
        return UNSET
    return None if view.estimate is None else start_estimate(view.estimate)


def _start_text(start_ms: int | None, now_ms: int) -> str | None:
    if start_ms is None:
        return None
    return utc_text(now_ms if start_ms == NOW else start_ms)
