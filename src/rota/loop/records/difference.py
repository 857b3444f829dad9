"""Two plans for the same cluster, compared job by job."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.calendar import PlannedStart
from rota.model.ids import JobId
from rota.model.plan import Binding, Eviction, Plan, PluginFault
from rota.model.verdict import Verdict


class Effect(Enum):
    """What the other plan means for a job."""

    STARTS = "starts"
    """It starts now, and didn't."""
    WAITS = "waits"
    """It did, and doesn't."""
    ELSEWHERE = "elsewhere"
    """Other tasks of it start, or on other nodes or devices."""
    EVICTED = "evicted"
    """It loses tasks that it kept."""
    SPARED = "spared"
    """It keeps tasks that it lost."""
    EARLIER = "earlier"
    """It is planned to start earlier; `LATER`: later."""
    LATER = "later"
    OTHERWISE = "otherwise"
    """It waits for other reasons, say."""


class Fate(Struct, frozen=True, omit_defaults=True):
    """All that a plan says of one job."""

    bindings: tuple[Binding, ...] = ()
    """By rank, like the evictions."""
    evictions: tuple[Eviction, ...] = ()
    verdict: Verdict | None = None
    start: PlannedStart | None = None


class JobDifference(Struct, frozen=True):
    job: JobId
    recorded: Fate
    decided: Fate

    @property
    def effects(self) -> list[Effect]:
        """At least one."""
        before, after = self.recorded, self.decided
        found = []
        if before.bindings != after.bindings:
            if not before.bindings:
                found.append(Effect.STARTS)
            else:
                found.append(Effect.ELSEWHERE if after.bindings else Effect.WAITS)
        lost_before, lost_after = ({one.rank for one in fate.evictions} for fate in (before, after))
        if lost_after - lost_before:
            found.append(Effect.EVICTED)
        if lost_before - lost_after:
            found.append(Effect.SPARED)
        if before.start and after.start and before.start.start_ms != after.start.start_ms:
            found.append(Effect.EARLIER if after.start.start_ms < before.start.start_ms else Effect.LATER)
        return found or [Effect.OTHERWISE]


class PlanDifference(Struct, frozen=True):
    """Nothing in it: the plans say the same, if in another order."""

    jobs: tuple[JobDifference, ...]
    faults_gone: tuple[PluginFault, ...]
    faults_new: tuple[PluginFault, ...]


def difference(recorded: Plan, decided: Plan) -> PlanDifference:
    before, after = _fates(recorded), _fates(decided)
    nothing = Fate()
    pairs = ((job, before.get(job, nothing), after.get(job, nothing)) for job in sorted(before | after))
    return PlanDifference(
        tuple(JobDifference(*pair) for pair in pairs if pair[1] != pair[2]),
        tuple(fault for fault in recorded.faults if fault not in decided.faults),
        tuple(fault for fault in decided.faults if fault not in recorded.faults),
    )


def _fates(plan: Plan) -> dict[JobId, Fate]:
    bindings: dict[JobId, list[Binding]] = {}
    evictions: dict[JobId, list[Eviction]] = {}
    for binding in plan.bindings:
        bindings.setdefault(binding.job, []).append(binding)
    for eviction in plan.evictions:
        evictions.setdefault(eviction.job, []).append(eviction)
    verdicts = {job: entry.verdict for entry in plan.waiting for job in entry.jobs}
    starts = {start.job: start for start in plan.starts}
    return {
        job: Fate(
            tuple(sorted(bindings.get(job, ()), key=lambda one: one.rank)),
            tuple(sorted(evictions.get(job, ()), key=lambda one: one.rank)),
            verdicts.get(job),
            starts.get(job),
        )
        for job in bindings.keys() | evictions.keys() | verdicts.keys() | starts.keys()
    }
