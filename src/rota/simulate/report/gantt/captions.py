"""What the captions and legends of the pictures of nodes say."""

from __future__ import annotations

from collections.abc import Sequence

from rota.model.ids import NodeName
from rota.simulate.metrics import promise_kept
from rota.simulate.report.gantt.promises import promised
from rota.simulate.report.gantt.rows import Window, window_text
from rota.simulate.report.gantt.tenants import Tenants, tenants_legend
from rota.simulate.report.markup import Markup, element, joined
from rota.simulate.result import SimResult
from rota.simulate.words import counted

_MOST_NAMED = 6


def nodes_said(shown: Sequence[NodeName], of: int) -> str:
    if len(shown) < of:
        return f"{counted(len(shown), 'node')} of {of:,}, evenly picked from the list"
    return "The only node" if of == 1 else f"All {of:,} nodes"


def announced_said(result: SimResult) -> str:
    windows: tuple[Window, ...] = (*result.calendar.maintenance, *result.calendar.reservations)
    named = "; ".join(window_text(window, result.epoch_ms) for window in windows[:_MOST_NAMED])
    more = f"; {len(windows) - _MOST_NAMED:,} more" if len(windows) > _MOST_NAMED else ""
    return f" Hatched: {named}{more}." if windows else ""


def promises_said(result: SimResult) -> str:
    given = promised(result.jobs)
    kept = sum(promise_kept(job) for job, _ in given)
    return f" Promised starts kept: {kept:,} of {len(given):,}." if given else ""


def nodes_legend(result: SimResult, tenants: Tenants) -> Markup:
    marks = []
    if result.calendar.maintenance:
        marks.append(_mark(element("rect", width=18, height=12, class_="maintenance"), "maintenance"))
    if result.calendar.reservations:
        marks.append(_mark(element("rect", width=18, height=12, class_="reservation"), "reservation"))
    kept = {promise_kept(job) for job, _ in promised(result.jobs)}
    if True in kept:
        marks.append(_mark(element("use", href="#kept", x=9, y=6), "promised start, kept"))
    if False in kept:
        marks.append(_mark(element("use", href="#broken", x=9, y=6), "promised start, not kept"))
    return joined((tenants_legend(tenants), element("ul", *marks, class_="legend") if marks else ""))


def _mark(picture: Markup, text: str) -> Markup:
    return element("li", element("svg", picture, width=18, height=12, aria_hidden="true"), text)
