"""An explanation as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.api.questions import RemedyEntry, WhyDocument
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.model.explanation import Outcome
from rota.model.quantities import parse_timestamp_ms
from rota.model.verdict import Kind
from rota.views.estimates import away_text, bound_text, estimate_of, expected_text, latest_text
from rota.views.folding import fold_counted, fold_names
from rota.views.quoting import one_line
from rota.views.reasons import local_text
from rota.views.times import Clock
from rota.views.wording import count_text, kind_text, outcome_text

_OUTCOME_STYLES = {
    Outcome.PLACED.value: GOOD,
    Outcome.RUNNING.value: GOOD,
    Outcome.EVICTED.value: BAD,
    Outcome.WAITING.value: PASSING,
}
_OUTCOMES = {one.value: outcome_text(one) for one in Outcome}
_KIND_STYLES = {Kind.NOT_NOW.value: PASSING, Kind.NEVER.value: BAD}
_KINDS = {one.value: kind_text(one) for one in Kind}
_EXAMPLES = 3


def why_tables(why: WhyDocument, clock: Clock, *, wide: bool) -> Iterator[Shown]:
    """From the document alone: a server made it, or this process from files."""
    yield _headline(why, clock)
    yield from _estimate(why, clock)
    yield from _request(why)
    if why.waits_for_node:
        yield Text(f"no node could run it; it waits for {why.waits_for_node}")
    for reason in why.reasons:
        if not reason.nodes:
            yield Text(f"{reason.plugin}: {local_text(reason.message, reason.times, clock)}")
    if why.scores:
        yield ""
        yield heading("How nodes scored for its first task, 0 to 100")
        yield _scores(why)
    if why.refusals:
        yield ""
        yield heading(_refusals_heading(why))
        yield _refusals_wide(why, clock) if wide else _refusals(why, clock)
    yield from _remedies(why, clock)
    yield from _faults(why)
    if why.cut_short:
        yield Text(
            "Not all changes that could help were tried: time was up. Ask again when the server is less busy."
        )


# -- plugins


def _faults(why: WhyDocument) -> Iterator[Shown]:
    if why.faults:
        yield ""
        yield heading("Plugins that failed, and were left out")
        table = new_table("plugin", "asked for", "error")
        for one in why.faults:
            table.add_row(one.plugin, one.call, Text(one_line(one.error), style=BAD))
        yield table


# -- the job


def _headline(why: WhyDocument, clock: Clock) -> Text:
    outcome, is_waiting = why.outcome, why.outcome == Outcome.WAITING.value
    style = _OUTCOME_STYLES.get(outcome, "") if why.verdict is None else _KIND_STYLES.get(why.verdict, "")
    text = Text().append(why.job, style="bold").append(f" {_OUTCOMES.get(outcome, outcome)}", style=style)
    if outcome == Outcome.EVICTED.value:
        text.append(f" from {fold_counted(why.evicted_from)}" if why.evicted_from else "")
    elif why.nodes:
        text.append(f" on {fold_counted(why.nodes)}")
    if is_waiting and why.verdict is not None:
        text.append(f": {_KINDS.get(why.verdict, why.verdict)}", style=style)
        text.append(_start_text(why, clock))
    if why.evicts:
        text.append(", once ").append(fold_names(why.evicts), style=BAD).append(" is evicted")
    return text


def _start_text(why: WhyDocument, clock: Clock) -> str:
    if why.start is None:
        return ""
    how = "promised" if why.promised else "planned"
    at_ms = parse_timestamp_ms(why.start)
    return f", {how} to start at {clock.text(at_ms)}, {clock.distance_text(at_ms)}"


def _estimate(why: WhyDocument, clock: Clock) -> Iterator[Shown]:
    if not why.estimate:
        return
    told = [estimate_of(why.estimate, why.at)]
    parts = [
        f"expected {expected_text(told, clock)}, {away_text(told, clock)}",
        f"in nine of ten cases {bound_text(told, clock)}",
        latest_text(told, clock),
    ]
    yield Text("; ".join(filter(None, parts)))


def _request(why: WhyDocument) -> Iterator[Shown]:
    if why.request:
        owner = "" if why.task_of is None else f"of the {why.task_of.kind} {why.task_of.name}: "
        yield Text(f"{owner}{why.request}; priority {why.priority}", style=QUIET)


# -- scores


def _scores(why: WhyDocument) -> Shown:
    criteria = list(why.scores[0].criteria)
    table = new_table("node", "total", right=("total",))
    for name in criteria:
        column = f"{name} ×{why.weights.get(name, 0)}"
        table.add_column(column.upper(), right=True)
    for scores in why.scores:
        values = scores.criteria
        table.add_row(
            Text(f"{scores.node} ←", style=GOOD) if scores.chosen else scores.node,
            Text(f"{scores.total:.1f}", style="bold"),
            *(f"{values[name]:.1f}" if name in values else "" for name in criteria),
        )
    return table


# -- refusals


def _refusals_heading(why: WhyDocument) -> str:
    refused = sum(len(refused.nodes) for refused in why.refusals)
    verb = "refuses" if refused == 1 else "refuse"
    before = " before anything is evicted" if why.evicts else ""
    return f"{count_text(refused, 'node')} {verb} it{before}"


def _refusals(why: WhyDocument, clock: Clock) -> Shown:
    table = new_table("nodes", "plugin", "reason", "which", right=("nodes",))
    for one in why.refusals:
        reason = Text(local_text(one.message, one.times, clock)).append(f"\n{one.lasts}", style=QUIET)
        table.add_row(str(len(one.nodes)), one.plugin, reason, fold_names(one.nodes, most=_EXAMPLES))
    return table


def _refusals_wide(why: WhyDocument, clock: Clock) -> Shown:
    table = new_table("nodes", "plugin", "reason", "lasts", "which", right=("nodes",))
    for one in why.refusals:
        table.add_row(
            str(len(one.nodes)),
            one.plugin,
            local_text(one.message, one.times, clock),
            Text(one.lasts, style=_KIND_STYLES.get(one.verdict, "")),
            fold_names(one.nodes),
        )
    return table


# -- remedies


def _remedies(why: WhyDocument, clock: Clock) -> Iterator[Shown]:
    if why.verdict == Kind.NEVER.value:
        yield from remedy_table("What would make it possible", why.remedies, why.at, clock)
        return
    at_once = [remedy for remedy in why.remedies if remedy.start == why.at]
    later = [remedy for remedy in why.remedies if remedy.start != why.at]
    yield from remedy_table("What would let it start now", at_once, why.at, clock)
    sooner = "What would give it a start"
    if why.start is not None:
        sooner = f"What would let it start before {clock.text(parse_timestamp_ms(why.start))}"
    yield from remedy_table(sooner, later, why.at, clock)


def remedy_table(title: str, remedies: Sequence[RemedyEntry], now: str, clock: Clock) -> Iterator[Shown]:
    """`now`: the moment that they were found for. What starts then starts at once."""
    if not remedies:
        return
    columns = ["change"]
    if any(remedy.start != now for remedy in remedies):
        columns.append("starts")
    columns.append("starts on")
    if any(remedy.evicts for remedy in remedies):
        columns.append("evicts")
    table = new_table(*columns)
    for remedy in remedies:
        cells = {
            "change": remedy.message,
            "starts": _remedy_start(remedy, now, clock),
            "starts on": fold_counted(remedy.starts_on),
            "evicts": fold_names(remedy.evicts),
        }
        table.add_row(*(cells[column] for column in columns))
    yield ""
    yield heading(f"{title}, the smallest change first")
    yield table


def _remedy_start(remedy: RemedyEntry, now: str, clock: Clock) -> str:
    if remedy.start is None:
        return "once there is room"
    return "now" if remedy.start == now else clock.text(parse_timestamp_ms(remedy.start))
