"""An explanation as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rota.cli.folding import fold_counted, fold_names
from rota.cli.tables import GOOD, KIND_STYLES, PASSING, QUIET, heading, new_table
from rota.cli.why.view import WhyView
from rota.cli.wording import (
    count_text,
    event_text,
    kind_text,
    outcome_text,
    reason_text,
    remedy_text,
)
from rota.model.explanation import Explanation, Outcome
from rota.model.verdict import Kind, Reason

_OUTCOME_STYLES = {
    Outcome.PLACED: GOOD,
    Outcome.RUNNING: GOOD,
    Outcome.EVICTED: PASSING,
    Outcome.WAITING: PASSING,
}
_EXAMPLES = 3


def why_tables(view: WhyView, *, wide: bool) -> Iterator[RenderableType]:
    explanation = view.explanation
    yield _headline(view)
    if view.belongs_to:
        yield Text(view.belongs_to, style=QUIET)
    if explanation.scores:
        yield ""
        yield heading("How the nodes score, 0 to 100")
        yield _scores(explanation)
    yield from _reasons(explanation)
    if explanation.refusals:
        yield ""
        yield heading(_refusals_heading(explanation))
        yield _refusals(explanation, wide=wide)
    if explanation.remedies:
        yield ""
        yield heading(_remedies_heading(explanation))
        yield _remedies(explanation)


def _headline(view: WhyView) -> Text:
    verdict = view.explanation.verdict
    style = KIND_STYLES[verdict.kind] if verdict else _OUTCOME_STYLES[view.outcome]
    text = Text(view.name, style="bold").append(f" {outcome_text(view.outcome)}", style=style)
    if view.nodes:
        text.append(f" on {fold_counted(view.nodes)}", style="not bold")
    if view.outcome is Outcome.WAITING and verdict is not None:
        text.append(f": {kind_text(verdict.kind)}", style=style)
    return text


def _reasons(explanation: Explanation) -> Iterator[RenderableType]:
    """Those that are not about nodes."""
    for refusal in explanation.verdict.refusals if explanation.verdict else ():
        if not refusal.nodes:
            yield Text(f"{refusal.reason.plugin}: {reason_text(refusal.reason)}")
            yield Text(_passing_text(refusal.reason), style=QUIET)


def _passing_text(reason: Reason) -> str:
    events = " or ".join(event_text(event) for event in reason.unblocked_by)
    return f"can pass: {events}" if reason.kind is Kind.NOT_NOW else f"stays, unless {events}"


# -- scores


def _scores(explanation: Explanation) -> RenderableType:
    weights = dict(explanation.weights)
    criteria = [name for name, _ in explanation.scores[0].criteria]
    columns = {name: f"{name} ×{weights.get(name, 0)}" for name in criteria}
    table = new_table("node", "total", *columns.values(), right=("total", *columns.values()))
    for scores in explanation.scores:
        chosen = scores.node in explanation.nodes[:1]
        values = dict(scores.criteria)
        table.add_row(
            Text(scores.node, style=GOOD if chosen else ""),
            Text(f"{scores.total:.1f}", style="bold"),
            *(f"{values[name]:.1f}" if name in values else "" for name in criteria),
        )
    return table


# -- refusals


def _refusals_heading(explanation: Explanation) -> str:
    refused = sum(len(refused.nodes) for refused in explanation.refusals)
    verb = "refuses" if refused == 1 else "refuse"
    return f"{count_text(refused, 'node')} {verb} it"


def _refusals(explanation: Explanation, *, wide: bool) -> RenderableType:
    table = new_table("nodes", "plugin", "reason", "which", right=("nodes",), wide=("reason",))
    for refused in explanation.refusals:
        which = fold_names(refused.nodes if wide else refused.nodes[:_EXAMPLES])
        if not wide and len(refused.nodes) > _EXAMPLES:
            which += ", …"
        reason = Text(reason_text(refused.reason))
        reason.append(f"\n{_passing_text(refused.reason)}", style=QUIET)
        table.add_row(str(len(refused.nodes)), refused.reason.plugin, reason, which)
    return table


# -- remedies


def _remedies_heading(explanation: Explanation) -> str:
    if explanation.verdict is not None and explanation.verdict.kind is Kind.NEVER:
        return "What would make it possible, the smallest change first"
    return "What would let it start, the smallest change first"


def _remedies(explanation: Explanation) -> RenderableType:
    table = new_table("change", "starts on", "evicts", wide=("change",))
    for remedy in explanation.remedies:
        table.add_row(remedy_text(remedy), fold_counted(remedy.starts_on), fold_names(remedy.evicts))
    return table
