"""A replay as tables for people."""

from __future__ import annotations

from collections.abc import Iterable

from rota.cli.policies.replay.view import CycleView, ReplayView
from rota.cli.policies.replay.wording import EFFECTS, fate_texts, first_text
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.loop.records.difference import Effect
from rota.views.times import utc_text
from rota.views.wording import count_text

_MOST_ROWS = 5


def replay_tables(view: ReplayView, *, every: bool) -> Iterable[Shown]:
    """`every`: all rows."""
    yield _summary(view)
    if view.cycle is not None:
        for cycle in view.shown:
            yield ""
            yield from _detail(cycle, view)
    elif view.shown:
        rows = view.shown if every else view.shown[:_MOST_ROWS]
        yield ""
        yield heading(f"Would differ under {view.policy}" if view.policy else "Differs from the record")
        yield _effects(rows) if view.policy else _differing(rows)
        if len(rows) < len(view.shown):
            yield Text(f"… and {len(view.shown) - len(rows):,} more (--all shows them)", style=QUIET)


def _detail(cycle: CycleView, view: ReplayView) -> Iterable[Shown]:
    yield heading(f"Cycle {cycle.number:,} at {utc_text(cycle.now_ms)}")
    yield Text(f"inputs {cycle.input_hash.hex()}", style=QUIET)
    if cycle.difference.jobs:
        table = new_table("job", "recorded", "under the other policy" if view.policy else "decided again")
        for one in cycle.difference.jobs:
            table.add_row(one.job, *fate_texts(one))
        yield table
    elif view.equal < view.count:
        yield Text(first_text(cycle), style=BAD)


def _differing(rows: Iterable[CycleView]) -> Shown:
    table = new_table("cycle", "time", "jobs", "first difference", right=("cycle", "jobs"))
    for cycle in rows:
        jobs = f"{len(cycle.difference.jobs):,}"
        table.add_row(f"{cycle.number:,}", utc_text(cycle.now_ms), jobs, first_text(cycle))
    return table


def _effects(rows: list[CycleView]) -> Shown:
    counts = [cycle.effects() for cycle in rows]
    found = [effect for effect in Effect if any(count[effect] for count in counts)]
    names = [EFFECTS[effect] for effect in found]
    table = new_table("cycle", "time", *names, right=("cycle", *names))
    for cycle, count in zip(rows, counts, strict=True):
        cells = (f"{count[effect]:,}" if count[effect] else "" for effect in found)
        table.add_row(f"{cycle.number:,}", utc_text(cycle.now_ms), *cells)
    return table


def _summary(view: ReplayView) -> Text:
    if not view.count:
        return Text("no cycle can be replayed", style=BAD)
    different = view.count - view.equal
    text = Text(f"{count_text(view.count, 'cycle')} replayed, ")
    if not different:
        return text.append("every plan equal" if view.count > 1 else "its plan equal", style=GOOD)
    text.append(f"{count_text(view.equal, 'plan')} equal, ")
    text.append(f"{different:,} {'differs' if different == 1 else 'differ'}", style=PASSING)
    if view.policy:
        return text.append(_jobs_text(view))
    if view.cycle is None:
        first = view.shown[0]
        text.append(f"; first cycle {first.number:,}: {first_text(first)}")
    return text


def _jobs_text(view: ReplayView) -> str:
    jobs = view.jobs_by_effect()
    words = {
        Effect.STARTS: "start when they waited",
        Effect.WAITS: "wait when they started",
        Effect.ELSEWHERE: "start elsewhere",
        Effect.EVICTED: "be evicted",
        Effect.SPARED: "be spared",
    }
    parts = [f"{len(jobs[effect]):,} would {text}" for effect, text in words.items() if jobs[effect]]
    return f"; of the jobs, {', '.join(parts)}" if parts else ""
