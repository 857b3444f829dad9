"""Words for the fate of a job in a plan, and for reasons why a replay may not be exact."""

from __future__ import annotations

from collections.abc import Sequence

from rota import __version__
from rota.cli.policies.replay.view import CycleView
from rota.loop.records.difference import Effect, Fate, JobDifference
from rota.loop.records.plugin_origins import PluginOrigin
from rota.loop.records.replay import OtherPlugin
from rota.model.plan import Binding
from rota.views.folding import fold_counted
from rota.views.times import utc_text
from rota.views.wording import cause_text, count_text, reason_text

EFFECTS = {
    Effect.STARTS: "starts",
    Effect.WAITS: "waits",
    Effect.ELSEWHERE: "elsewhere",
    Effect.EVICTED: "evicted",
    Effect.SPARED: "spared",
    Effect.EARLIER: "earlier",
    Effect.LATER: "later",
    Effect.OTHERWISE: "other reason",
}
_MAIN_REASONS = 2


def fate_texts(one: JobDifference) -> tuple[str, str]:
    """As recorded, and as decided now, in as few words as make a difference visible."""
    before, after = one.recorded, one.decided
    tellings = (
        (fate_text(before), fate_text(after)),
        (_moved_text(before, after), _moved_text(after, before)),
        (fate_text(before, most_reasons=None), fate_text(after, most_reasons=None)),
    )
    alike = (fate_text(before), "equal except for details that -o json shows")
    return next((texts for texts in tellings if texts[0] != texts[1]), alike)


def fate_text(fate: Fate, most_reasons: int | None = _MAIN_REASONS) -> str:
    parts = []
    if fate.bindings:
        parts.append(f"starts on {_places_text(fate.bindings)}")
    for cause in dict.fromkeys((cause_text(one), one.preemptor) for one in fate.evictions):
        alike = [one.node for one in fate.evictions if (cause_text(one), one.preemptor) == cause]
        by = f" for {cause[1]}" if cause[1] else ""
        parts.append(f"evicted from {fold_counted(alike)} ({cause[0]}{by})")
    if fate.verdict is not None:
        refusals = fate.verdict.refusals
        reasons = [
            f"{reason_text(one.reason)} ({count_text(one.nodes, 'node')})"
            if one.nodes
            else reason_text(one.reason)
            for one in refusals[:most_reasons]
        ]
        if len(refusals) > len(reasons):
            reasons.append(count_text(len(refusals) - len(reasons), "other reason"))
        parts.append(f"waits: {'; '.join(reasons)}" if reasons else "waits")
    if fate.start is not None:
        nodes = fold_counted(placement.node for placement in fate.start.placements)
        promised = "promised" if fate.start.promised else "planned"
        parts.append(f"{promised} for {utc_text(fate.start.start_ms)}" + (f" on {nodes}" if nodes else ""))
    return ", ".join(parts) or "nothing"


def _places_text(bindings: Sequence[Binding]) -> str:
    return fold_counted(map(_place_text, bindings))


def _moved_text(fate: Fate, other: Fate) -> str:
    """For plans with the same nodes, in which tasks have changed places."""
    moved = [binding for binding in fate.bindings if binding not in other.bindings]
    return ", ".join(f"task {one.rank} on {_place_text(one)}" for one in moved)


def _place_text(binding: Binding) -> str:
    """`a100-1`, with devices `a100-1:0+1`."""
    devices = "+".join(map(str, binding.gpu_devices))
    return f"{binding.node}:{devices}" if devices else binding.node


def first_text(cycle: CycleView) -> str:
    """The first difference in words: what starts comes before what merely waits for other reasons."""
    jobs = cycle.difference.jobs
    if jobs:
        order = list(Effect)
        first = min(jobs, key=lambda one: (min(map(order.index, one.effects)), one.job))
        return _difference_text(first)
    if cycle.difference.faults_new:
        fault = cycle.difference.faults_new[0]
        return f"plugin {fault.plugin} failed in {fault.call}, and didn't when recorded"
    if cycle.difference.faults_gone:
        fault = cycle.difference.faults_gone[0]
        return f"plugin {fault.plugin} failed in {fault.call} when recorded, and doesn't now"
    return "the same, in another order"


def _difference_text(one: JobDifference) -> str:
    before, after = fate_texts(one)
    if one.recorded.bindings and one.decided.bindings:
        return f"{one.job} {after} instead of {before.removeprefix('starts on ')}"
    return f"{one.job}: {after}; it was: {before}"


def version_note(version: str) -> str:
    return f"cycles were recorded by rota {version}, this is {__version__}: it may decide differently"


def plugin_note(other: OtherPlugin) -> str:
    recorded, here = _origin_text(other.recorded), _origin_text(other.here)
    return (
        f"plugin {other.recorded.name} was {recorded} when cycles were recorded and is {here} here:"
        " plans that depend on it may differ"
    )


def _origin_text(origin: PluginOrigin) -> str:
    return f"{origin.package} {origin.version}" if origin.package else "not installed"
