"""What went wrong with plugins, for those who look later: each kind once, with how often and when."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from rota.model.ids import JobId
from rota.model.plan import PluginFault

TOLD_AGAIN_MS = 600_000
"""A plugin that fails in every cycle isn't reported in every cycle."""
MOST_JOBS = 1_000
"""Of which faults are remembered one by one."""
MOST_OF_A_JOB = 10


class FaultTally(Struct, frozen=True):
    """One call of one plugin, and what went wrong with it: the latest error, and how many there were."""

    latest: PluginFault
    count: int
    first_ms: int
    last_ms: int
    untold: int
    """How many of them nobody was told of yet."""
    told_ms: int | None = None


class FaultBook:
    """Errors differ from job to job. So they are counted by plugin and call, of which there are few."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str], FaultTally] = {}
        self._of_jobs: OrderedDict[JobId, dict[PluginFault, None]] = OrderedDict()

    def note(self, faults: Iterable[PluginFault], now_ms: int) -> None:
        faults = tuple(faults)
        latest = {(fault.plugin, fault.call): fault for fault in faults}
        counts = Counter((fault.plugin, fault.call) for fault in faults)
        for key, count in counts.items():
            before = self._tallies.get(key) or FaultTally(latest[key], 0, now_ms, now_ms, 0)
            self._tallies[key] = replace(
                before,
                latest=latest[key],
                count=before.count + count,
                last_ms=now_ms,
                untold=before.untold + count,
            )
        for fault in faults:
            self._remember(fault)

    def _remember(self, fault: PluginFault) -> None:
        known = self._of_jobs.setdefault(fault.job, {})
        known.pop(fault, None)
        known[fault] = None
        if len(known) > MOST_OF_A_JOB:
            del known[next(iter(known))]
        self._of_jobs.move_to_end(fault.job)
        if len(self._of_jobs) > MOST_JOBS:
            self._of_jobs.popitem(last=False)

    def to_tell(self, now_ms: int) -> list[FaultTally]:
        """Those that it is time to report; they count as reported then."""
        due = []
        for key, tally in self._tallies.items():
            if tally.untold and (tally.told_ms is None or now_ms >= tally.told_ms + TOLD_AGAIN_MS):
                due.append(tally)
                self._tallies[key] = replace(tally, untold=0, told_ms=now_ms)
        return due

    def of_plugin(self, name: str) -> list[FaultTally]:
        return [tally for (plugin, _), tally in sorted(self._tallies.items()) if plugin == name]

    def of_job(self, job: JobId) -> tuple[PluginFault, ...]:
        """The latest ones, while it isn't too long ago."""
        return tuple(self._of_jobs.get(job, ()))

    @property
    def plugins(self) -> list[str]:
        return sorted({plugin for plugin, _ in self._tallies})
