"""An explanation as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rota.cli.tables import BAD, GOOD, KIND_STYLES, PASSING, QUIET, heading, new_table
from rota.model.explanation import NOW, Explanation, Outcome, Remedy
from rota.model.verdict import Kind
from rota.views.estimates import away_text, bound_text, expected_text, latest_text
from rota.views.folding import fold_counted, fold_names
from rota.views.times import Clock
from rota.views.why.view import WhyView
from rota.views.wording import (
    count_text,
    kind_text,
    outcome_text,
    passing_text,
    priority_text,
    reason_text,
    remedy_text,
    request_text,
)

_OUTCOME_STYLES = {
    Outcome.PLACED: GOOD,
    Outcome.RUNNING: GOOD,
    Outcome.EVICTED: BAD,
    Outcome.WAITING: PASSING,
}
_EXAMPLES = 3


def why_tables(view: WhyView, clock: Clock, *, wide: bool) -> Iterator[RenderableType]:
    explanation = view.explanation
    yield _headline(view, clock)
    yield from _estimate(view, clock)
    yield _request(view)
    yield from _reasons(explanation, clock)
    if explanation.scores:
        yield ""
        yield heading("How nodes scored for its first task, 0 to 100")
        yield _scores(explanation)
    if explanation.refusals:
        yield ""
        yield heading(_refusals_heading(view))
        yield _refusals_wide(explanation, clock) if wide else _refusals(explanation, clock)
    yield from _remedies(explanation, clock)
    if explanation.is_cut_short:
        yield Text(
            "Not all changes that could help were tried: time was up. Ask again when less is going on."
        )


# -- the job


def _headline(view: WhyView, clock: Clock) -> Text:
    verdict = view.explanation.verdict
    style = KIND_STYLES[verdict.kind] if verdict else _OUTCOME_STYLES[view.outcome]
    text = Text().append(view.name, style="bold").append(f" {outcome_text(view.outcome)}", style=style)
    if view.outcome is Outcome.EVICTED:
        text.append(f" from {fold_counted(view.evicted_from)}")
    elif view.nodes:
        text.append(f" on {fold_counted(view.nodes)}")
    if view.outcome is Outcome.WAITING and verdict is not None:
        text.append(f": {kind_text(verdict.kind)}", style=style)
        text.append(_start_text(view.explanation, clock))
    if view.evictions:
        victims = fold_names(eviction.job for eviction in view.evictions)
        text.append(", once ").append(victims, style=BAD).append(" is evicted")
    return text


def _start_text(explanation: Explanation, clock: Clock) -> str:
    if explanation.start_ms is None:
        return ""
    how = "promised" if explanation.promised else "planned"
    at_ms = explanation.start_ms
    return f", {how} to start at {clock.text(at_ms)}, {clock.distance_text(at_ms)}"


def _estimate(view: WhyView, clock: Clock) -> Iterator[RenderableType]:
    if view.estimate is None:
        return
    told = [view.estimate]
    parts = [
        f"expected {expected_text(told, clock)}, {away_text(told, clock)}",
        f"in nine of ten cases {bound_text(told, clock)}",
        latest_text(told, clock),
    ]
    yield Text("; ".join(filter(None, parts)))


def _request(view: WhyView) -> Text:
    owner = ""
    if view.is_task:
        owner = f"of the {'gang' if view.job.tasks_are_jobs else 'job'} {view.job.id}: "
    priority = priority_text(view.job.template.priority)
    return Text(f"{owner}{request_text(view.job)}; priority {priority}", style=QUIET)


def _reasons(explanation: Explanation, clock: Clock) -> Iterator[RenderableType]:
    """Those that are not about nodes."""
    for refusal in explanation.verdict.refusals if explanation.verdict else ():
        if not refusal.nodes:
            yield Text(f"{refusal.reason.plugin}: {reason_text(refusal.reason, clock.text)}")


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


def _refusals(explanation: Explanation, clock: Clock) -> RenderableType:
    table = new_table("nodes", "plugin", "reason", "which", right=("nodes",))
    for refused in explanation.refusals:
        reason = Text(reason_text(refused.reason, clock.text))
        reason.append(f"\n{passing_text(refused.reason)}", style=QUIET)
        table.add_row(
            str(len(refused.nodes)),
            refused.reason.plugin,
            reason,
            fold_names(refused.nodes, most=_EXAMPLES),
        )
    return table


def _refusals_wide(explanation: Explanation, clock: Clock) -> RenderableType:
    table = new_table("nodes", "plugin", "reason", "lasts", "which", right=("nodes",))
    for refused in explanation.refusals:
        table.add_row(
            str(len(refused.nodes)),
            refused.reason.plugin,
            reason_text(refused.reason, clock.text),
            Text(passing_text(refused.reason), style=KIND_STYLES[refused.reason.kind]),
            fold_names(refused.nodes),
        )
    return table


# -- remedies


def _remedies(explanation: Explanation, clock: Clock) -> Iterator[RenderableType]:
    found = explanation.remedies
    if explanation.verdict is not None and explanation.verdict.kind is Kind.NEVER:
        yield from remedy_table("What would make it possible", found, clock)
        return
    at_once = [remedy for remedy in found if remedy.start_ms == NOW]
    later = [remedy for remedy in found if remedy.start_ms != NOW]
    yield from remedy_table("What would let it start now", at_once, clock)
    start_ms = explanation.start_ms
    sooner = "What would give it a start"
    if start_ms is not None:
        sooner = f"What would let it start before {clock.text(start_ms)}"
    yield from remedy_table(sooner, later, clock)


def remedy_table(title: str, remedies: Sequence[Remedy], clock: Clock) -> Iterator[RenderableType]:
    if not remedies:
        return
    columns = ["change"]
    if any(remedy.start_ms != NOW for remedy in remedies):
        columns.append("starts")
    columns.append("starts on")
    if any(remedy.evicts for remedy in remedies):
        columns.append("evicts")
    table = new_table(*columns)
    for remedy in remedies:
        cells = {
            "change": remedy_text(remedy),
            "starts": _remedy_start(remedy, clock),
            "starts on": fold_counted(remedy.starts_on),
            "evicts": fold_names(remedy.evicts),
        }
        table.add_row(*(cells[column] for column in columns))
    yield ""
    yield heading(f"{title}, the smallest change first")
    yield table


def _remedy_start(remedy: Remedy, clock: Clock) -> str:
    if remedy.start_ms is None:
        return "once there is room"
    return "now" if remedy.start_ms == NOW else clock.text(remedy.start_ms)
