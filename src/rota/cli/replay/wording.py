"""Words for what becomes of a job in a plan, and for what keeps a replay from being exact."""

from __future__ import annotations

from collections.abc import Sequence

from rota import __version__
from rota.cli.folding import fold_counted
from rota.cli.replay.view import CycleView
from rota.cli.times import utc_text
from rota.cli.wording import cause_text, count_text, reason_text
from rota.loop.difference import Effect, Fate, JobDifference
from rota.loop.plugin_origins import PluginOrigin
from rota.loop.replay import OtherPlugin
from rota.model.plan import Binding

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


def fate_text(fate: Fate, *, devices: bool = True) -> str:
    parts = []
    if fate.bindings:
        parts.append(f"starts on {_places_text(fate.bindings, devices=devices)}")
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
            for one in refusals[:_MAIN_REASONS]
        ]
        if len(refusals) > _MAIN_REASONS:
            reasons.append(count_text(len(refusals) - _MAIN_REASONS, "other reason"))
        parts.append(f"waits: {'; '.join(reasons)}" if reasons else "waits")
    if fate.start is not None:
        nodes = fold_counted(placement.node for placement in fate.start.placements)
        promised = "promised" if fate.start.promised else "planned"
        parts.append(f"{promised} for {utc_text(fate.start.start_ms)}" + (f" on {nodes}" if nodes else ""))
    return ", ".join(parts) or "nothing"


def _places_text(bindings: Sequence[Binding], *, devices: bool) -> str:
    text = fold_counted(binding.node for binding in bindings)
    used = [f"{one.node}:{','.join(map(str, one.gpu_devices))}" for one in bindings if one.gpu_devices]
    return f"{text} (gpu {' '.join(used)})" if devices and used else text


def first_text(cycle: CycleView) -> str:
    """The first difference in words: what starts comes before what merely waits for other reasons."""
    jobs = cycle.difference.jobs
    if jobs:
        order = list(Effect)
        first = min(jobs, key=lambda one: (min(map(order.index, one.effects)), one.job))
        return _difference_text(first)
    if cycle.difference.faults_new:
        fault = cycle.difference.faults_new[0]
        return f"plugin {fault.plugin} failed in {fault.call}, and didn't"
    if cycle.difference.faults_gone:
        fault = cycle.difference.faults_gone[0]
        return f"plugin {fault.plugin} had failed in {fault.call}, and didn't"
    return "the same, in another order"


def _difference_text(one: JobDifference) -> str:
    before, after = one.recorded, one.decided
    if before.bindings and after.bindings:
        devices = [b.node for b in before.bindings] == [b.node for b in after.bindings]
        places = [_places_text(fate.bindings, devices=devices) for fate in (after, before)]
        return f"{one.job} starts on {places[0]} instead of {places[1]}"
    return f"{one.job}: {fate_text(after, devices=False)}; it was: {fate_text(before, devices=False)}"


def version_note(version: str) -> str:
    return f"cycles were recorded by rota {version}, this is {__version__}: it may decide otherwise"


def plugin_note(other: OtherPlugin) -> str:
    recorded, here = _origin_text(other.recorded), _origin_text(other.here)
    return (
        f"plugin {other.recorded.name} was {recorded} when cycles were recorded and is {here} here:"
        " plans that it had a say in can't be reproduced for sure"
    )


def _origin_text(origin: PluginOrigin) -> str:
    return f"{origin.package} {origin.version}" if origin.package else "not installed"
