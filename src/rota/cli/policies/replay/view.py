"""The result of a replay, for tables and data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rota.loop.records.difference import Effect, PlanDifference
from rota.model.ids import JobId


@dataclass(frozen=True)
class CycleView:
    number: int
    now_ms: int
    input_hash: bytes
    difference: PlanDifference

    def effects(self) -> Counter[Effect]:
        """The number of jobs with each effect."""
        return Counter(effect for one in self.difference.jobs for effect in one.effects)


class ReplayView:
    def __init__(self, policy: str | None, cycle: int | None) -> None:
        """`policy`: the file of another policy; None: each cycle's own. `cycle`: the only one asked for."""
        self.policy = policy
        self.cycle = cycle
        self.count = 0
        self.equal = 0
        self.first: int | None = None
        self.last: int | None = None
        self.shown: list[CycleView] = []
        """Those that differ, or the one that was asked for."""
        self.damage: list[str] = []
        self.notes: list[str] = []

    def add(self, number: int, is_equal: bool, shown: CycleView | None) -> None:
        self.count += 1
        self.equal += is_equal
        self.first = number if self.first is None else self.first
        self.last = number
        if shown is not None:
            self.shown.append(shown)

    def jobs_by_effect(self) -> dict[Effect, set[JobId]]:
        """Each job once, in whichever cycles it differs."""
        found: dict[Effect, set[JobId]] = {effect: set() for effect in Effect}
        for cycle in self.shown:
            for one in cycle.difference.jobs:
                for effect in one.effects:
                    found[effect].add(one.job)
        return found
