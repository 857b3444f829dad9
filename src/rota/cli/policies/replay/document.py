"""A replay as data. Programs rely on its fields: they must not change."""

from __future__ import annotations

from msgspec import Struct, field

from rota.api.questions import ReasonEntry
from rota.cli.policies.replay.view import CycleView, ReplayView
from rota.loop.records.difference import Fate, JobDifference
from rota.model.calendar import PlannedStart
from rota.model.plan import PluginFault
from rota.views.reasons import reason_entries
from rota.views.times import utc_text


class StartEntry(Struct, frozen=True):
    rank: int
    node: str
    gpus: list[int]


class EvictionEntry(Struct, frozen=True):
    rank: int
    node: str
    cause: str
    preemptor: str | None = field(name="for")


class PlannedEntry(Struct, frozen=True):
    start: str
    nodes: list[str]
    """By rank."""
    promised: bool


class FateEntry(Struct, frozen=True):
    starts: list[StartEntry]
    evictions: list[EvictionEntry]
    reasons: list[ReasonEntry]
    planned: PlannedEntry | None


class JobEntry(Struct, frozen=True):
    job: str
    effects: list[str]
    recorded: FateEntry
    decided: FateEntry


class FaultEntry(Struct, frozen=True):
    plugin: str
    call: str
    error: str


class CycleEntry(Struct, frozen=True):
    cycle: int
    time: str
    input_hash: str
    jobs: list[JobEntry]
    faults_gone: list[FaultEntry]
    faults_new: list[FaultEntry]


class ReplayDocument(Struct, frozen=True):
    cycles: int
    equal: int
    first: int | None
    last: int | None
    different: list[CycleEntry]
    damage: list[str]
    warnings: list[str]


def replay_document(view: ReplayView) -> ReplayDocument:
    different = [_cycle(cycle) for cycle in view.shown] if view.equal < view.count else []
    return ReplayDocument(view.count, view.equal, view.first, view.last, different, view.damage, view.notes)


def _cycle(cycle: CycleView) -> CycleEntry:
    return CycleEntry(
        cycle.number,
        utc_text(cycle.now_ms),
        cycle.input_hash.hex(),
        [_job(one) for one in cycle.difference.jobs],
        [_fault(fault) for fault in cycle.difference.faults_gone],
        [_fault(fault) for fault in cycle.difference.faults_new],
    )


def _job(one: JobDifference) -> JobEntry:
    effects = [effect.value for effect in one.effects]
    return JobEntry(one.job, effects, _fate(one.recorded), _fate(one.decided))


def _fate(fate: Fate) -> FateEntry:
    return FateEntry(
        [StartEntry(one.rank, one.node, list(one.gpu_devices)) for one in fate.bindings],
        [EvictionEntry(one.rank, one.node, one.cause.value, one.preemptor or None) for one in fate.evictions],
        reason_entries(fate.verdict) if fate.verdict else [],
        _planned(fate.start) if fate.start else None,
    )


def _planned(start: PlannedStart) -> PlannedEntry:
    return PlannedEntry(utc_text(start.start_ms), [one.node for one in start.placements], start.promised)


def _fault(fault: PluginFault) -> FaultEntry:
    return FaultEntry(fault.plugin, fault.call, fault.error)
