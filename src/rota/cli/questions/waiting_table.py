"""Waiting jobs, the reasons, and their planned or estimated starts, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rota.cli.tables import GOOD, KIND_STYLES, QUIET, Table, new_table
from rota.cli.text import Text, joined
from rota.model.calendar import PlannedStart
from rota.model.estimate import Estimate
from rota.model.plan import Waiting
from rota.model.verdict import Refusal
from rota.views.estimates import away_text, bound_text, expected_text, latest_text
from rota.views.folding import fold_counted, fold_names
from rota.views.plan.view import PlanView
from rota.views.times import Clock
from rota.views.wording import count_text, kind_text, reason_text

_MAIN_REASONS = 3


def waiting_table(view: PlanView, clock: Clock, *, wide: bool) -> Table:
    planned = ("starts", "on") if wide else ("starts",)
    columns = planned if view.starts or view.estimates else ()
    table = new_table("job", "verdict", *columns, "nodes", "why", right=("nodes",))
    for entry in view.plan.waiting:
        verdict = entry.verdict
        name, kind = fold_names(entry.jobs), kind_text(verdict.kind)
        starts = (_starts(entry, view, clock, wide), _nodes(entry, view))[: len(columns)]
        shown = verdict.refusals if wide else verdict.refusals[:_MAIN_REASONS]
        for at, refusal in enumerate(shown):
            first = at == 0
            table.add_row(
                name if first else "",
                Text(kind if first else "", style=KIND_STYLES[verdict.kind]),
                *(starts if first else ("",) * len(columns)),
                _refused_count(refusal),
                reason_text(refusal.reason, clock.text),
            )
        left = verdict.refusals[len(shown) :]
        if left:
            nodes = sum(refusal.nodes for refusal in left)
            rest = Text(count_text(len(left), "other reason"), style=QUIET)
            table.add_row("", "", *("",) * len(columns), str(nodes), rest)
    return table


def _refused_count(refusal: Refusal) -> str:
    return str(refusal.nodes) if refusal.nodes else ""


def _starts(entry: Waiting, view: PlanView, clock: Clock, wide: bool) -> Text:
    """The estimate of each job, or else its promised or planned start."""
    estimates = view.estimates or {}
    planned = [one for one in _planned(entry, view) if one.job not in estimates]
    told = [estimates[job_id] for job_id in entry.jobs if job_id in estimates]
    parts = []
    if planned:
        parts.append(_planned_text(planned, len(entry.jobs), clock))
    if told:
        parts.append(_estimated_text(told, clock, wide))
    left = len(entry.jobs) - len(planned) - len(told)
    if parts and left:
        parts.append(Text(f"{left:,} not planned", style=QUIET))
    return joined(parts)


def _planned_text(planned: Sequence[PlannedStart], job_count: int, clock: Clock) -> Text:
    """Of one job, its start; of several that wait for the same reasons, the first and the last."""
    first, last = planned[0], planned[-1]
    text = Text(clock.text(first.start_ms))
    if last.start_ms > first.start_ms:
        text.append(f" to {clock.text(last.start_ms)}")
    text.append(f"\n{clock.distance_text(first.start_ms)}", style=QUIET)
    promised = sum(one.promised for one in planned)
    if promised:
        some = "" if promised == job_count else f"{promised:,} "
        text.append(", ", style=QUIET).append(f"{some}promised", style=GOOD)
    return text


def _estimated_text(told: Sequence[Estimate], clock: Clock, wide: bool) -> Text:
    text = Text(f"{expected_text(told, clock)}, {bound_text(told, clock)}")
    text.append(f"\n{away_text(told, clock)}", style=QUIET)
    latest = latest_text(told, clock)
    if wide and latest:
        text.append(f"\n{latest}", style=QUIET)
    return text


def _nodes(entry: Waiting, view: PlanView) -> str:
    return fold_counted(
        placement.node for planned in _planned(entry, view) for placement in planned.placements
    )


def _planned(entry: Waiting, view: PlanView) -> Sequence[PlannedStart]:
    planned = (view.starts[job_id] for job_id in entry.jobs if job_id in view.starts)
    return sorted(planned, key=lambda one: (one.start_ms, one.job))
