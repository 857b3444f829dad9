"""The pods of each gang of a live cluster, and the part of each gang that is to be scheduled now.

A gang is read again when one of its pods has changed, or when it has waited long enough for more pods.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rota.kube.mirror.gangs import GangReading, Roles, read_gang
from rota.kube_objects.pods import GangKeys, PodState, PodTask
from rota.model.ids import JobId, TaskName

GANG_SETTLES_S = 1.0
"""A gang that doesn't say how many pods it will have is complete once none has come for so long."""


class GangMembers:
    def __init__(self, gang_keys: GangKeys) -> None:
        self.torn: dict[JobId, tuple[TaskName, ...]] = {}
        """Gangs of which some are bound, too few, and who those are."""
        self._gang_keys = gang_keys
        self._members: defaultdict[JobId, set[TaskName]] = defaultdict(set)
        self._joined_s: dict[JobId, float] = {}
        """When the last pod joined a gang."""
        self._settling: set[JobId] = set()
        self._readings: dict[JobId, GangReading] = {}
        self._changed: dict[JobId, None] = {}

    def join(self, gang: JobId, name: TaskName, now_s: float) -> None:
        """Also called for a member that has changed."""
        if name not in self._members[gang]:
            self._members[gang].add(name)
            self._joined_s[gang] = now_s
        self._changed[gang] = None

    def leave(self, gang: JobId, name: TaskName) -> None:
        self._members[gang].discard(name)
        self._changed[gang] = None

    def members(self, gang: JobId) -> list[TaskName]:
        return sorted(self._members.get(gang, ()))

    def reading(self, gang: JobId) -> GangReading | None:
        """As it was read last; None: it isn't known."""
        return self._readings.get(gang)

    def due(self, now_s: float) -> Iterable[JobId]:
        """Gangs that are to be read again, each told once."""
        for gang in [gang for gang in self._settling if now_s >= self._settled_s(gang, now_s)]:
            self._settling.discard(gang)
            self._changed[gang] = None
        due, self._changed = self._changed, {}
        return due

    def settles_within_s(self, now_s: float) -> float | None:
        """After so many seconds a gang is due by itself; None: never."""
        ends = [self._settled_s(gang, now_s) for gang in self._settling]
        return max(0.0, min(ends) - now_s) if ends else None

    def is_settling(self, gang: JobId) -> bool:
        """Further pods of it may be on their way: nothing is to be decided yet."""
        return gang in self._settling

    def read(self, gang: JobId, tasks: Sequence[PodTask], roles: Roles, now_s: float) -> GangReading:
        self.torn.pop(gang, None)
        reading = self._readings[gang] = read_gang(gang, tasks, self._gang_keys, roles)
        is_starting = not any(task.state is PodState.RUNNING for task in tasks)
        if reading.is_open_ended and is_starting and now_s < self._settled_s(gang, now_s):
            self._settling.add(gang)
        elif reading.torn:
            self.torn[gang] = reading.torn
        return reading

    def forget(self, gang: JobId) -> None:
        """Its last pod is gone."""
        self.torn.pop(gang, None)
        self._members.pop(gang, None)
        self._joined_s.pop(gang, None)
        self._settling.discard(gang)
        self._readings.pop(gang, None)

    def _settled_s(self, gang: JobId, now_s: float) -> float:
        return self._joined_s.get(gang, now_s) + GANG_SETTLES_S
