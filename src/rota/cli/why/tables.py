"""An explanation as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rota.cli.folding import fold_counted, fold_names
from rota.cli.tables import BAD, GOOD, KIND_STYLES, PASSING, QUIET, heading, new_table
from rota.cli.why.view import WhyView
from rota.cli.wording import (
    count_text,
    kind_text,
    outcome_text,
    passing_text,
    priority_text,
    reason_text,
    remedy_text,
    request_text,
)
from rota.model.explanation import Explanation, Outcome
from rota.model.verdict import Kind

_OUTCOME_STYLES = {
    Outcome.PLACED: GOOD,
    Outcome.RUNNING: GOOD,
    Outcome.EVICTED: BAD,
    Outcome.WAITING: PASSING,
}
_EXAMPLES = 3


def why_tables(view: WhyView, *, wide: bool) -> Iterator[RenderableType]:
    explanation = view.explanation
    yield _headline(view)
    yield _request(view)
    yield from _reasons(explanation)
    if explanation.scores:
        yield ""
        yield heading("How nodes scored for its first task, 0 to 100")
        yield _scores(explanation)
    if explanation.refusals:
        yield ""
        yield heading(_refusals_heading(view))
        yield _refusals_wide(explanation) if wide else _refusals(explanation)
    if explanation.remedies:
        yield ""
        yield heading(_remedies_heading(explanation))
        yield _remedies(explanation)


# -- the job


def _headline(view: WhyView) -> Text:
    verdict = view.explanation.verdict
    style = KIND_STYLES[verdict.kind] if verdict else _OUTCOME_STYLES[view.outcome]
    text = Text().append(view.name, style="bold").append(f" {outcome_text(view.outcome)}", style=style)
    if view.outcome is Outcome.EVICTED:
        text.append(f" from {fold_counted(view.evicted_from)}")
    elif view.nodes:
        text.append(f" on {fold_counted(view.nodes)}")
    if view.outcome is Outcome.WAITING and verdict is not None:
        text.append(f": {kind_text(verdict.kind)}", style=style)
    if view.evictions:
        victims = fold_names(eviction.job for eviction in view.evictions)
        text.append(", once ").append(victims, style=BAD).append(" is evicted")
    return text


def _request(view: WhyView) -> Text:
    owner = ""
    if view.is_task:
        owner = f"of the {'gang' if view.job.tasks_are_jobs else 'job'} {view.job.id}: "
    priority = priority_text(view.job.template.priority)
    return Text(f"{owner}{request_text(view.job)}; priority {priority}", style=QUIET)


def _reasons(explanation: Explanation) -> Iterator[RenderableType]:
    """Those that are not about nodes."""
    for refusal in explanation.verdict.refusals if explanation.verdict else ():
        if not refusal.nodes:
            yield Text(f"{refusal.reason.plugin}: {reason_text(refusal.reason)}")


# -- scores


def _scores(explanation: Explanation) -> RenderableType:
    weights = dict(explanation.weights)
    criteria = [name for name, _ in explanation.scores[0].criteria]
    table = new_table("node", "total", right=("total",))
    for name in criteria:
        table.add_column(f"{name} ×{weights.get(name, 0)}".upper(), justify="right", min_width=len("100.0"))
    for scores in explanation.scores:
        chosen = scores.node in explanation.nodes[:1]
        values = dict(scores.criteria)
        table.add_row(
            Text(f"{scores.node} ←", style=GOOD) if chosen else scores.node,
            Text(f"{scores.total:.1f}", style="bold"),
            *(f"{values[name]:.1f}" if name in values else "" for name in criteria),
        )
    return table


# -- refusals


def _refusals_heading(view: WhyView) -> str:
    refused = sum(len(refused.nodes) for refused in view.explanation.refusals)
    verb = "refuses" if refused == 1 else "refuse"
    before = " before anything is evicted" if view.evictions else ""
    return f"{count_text(refused, 'node')} {verb} it{before}"


def _refusals(explanation: Explanation) -> RenderableType:
    table = new_table("nodes", "plugin", "reason", "which", right=("nodes",))
    for refused in explanation.refusals:
        reason = Text(reason_text(refused.reason))
        reason.append(f"\n{passing_text(refused.reason)}", style=QUIET)
        table.add_row(
            str(len(refused.nodes)),
            refused.reason.plugin,
            reason,
            fold_names(refused.nodes, most=_EXAMPLES),
        )
    return table


def _refusals_wide(explanation: Explanation) -> RenderableType:
    table = new_table("nodes", "plugin", "reason", "lasts", "which", right=("nodes",))
    for refused in explanation.refusals:
        table.add_row(
            str(len(refused.nodes)),
            refused.reason.plugin,
            reason_text(refused.reason),
            Text(passing_text(refused.reason), style=KIND_STYLES[refused.reason.kind]),
            fold_names(refused.nodes),
        )
    return table


# -- remedies


def _remedies_heading(explanation: Explanation) -> str:
    if explanation.verdict is not None and explanation.verdict.kind is Kind.NEVER:
        return "What would make it possible, the smallest change first"
    return "What would let it start now, the smallest change first"


def _remedies(explanation: Explanation) -> RenderableType:
    evicts = any(remedy.evicts for remedy in explanation.remedies)
    table = new_table("change", "starts on", *(("evicts",) if evicts else ()))
    for remedy in explanation.remedies:
        victims = (fold_names(remedy.evicts),) if evicts else ()
        table.add_row(remedy_text(remedy), fold_counted(remedy.starts_on), *victims)
    return table
