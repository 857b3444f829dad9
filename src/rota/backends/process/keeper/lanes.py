"""Who starts next where a task has ended: the task on standby that takes over its room.

The server counts a task on standby as started once it learns of an end in its lane. An end that it
hasn't settled yet it may not have known of when it sent another task on standby: that task takes the
room which that end left.
"""

from __future__ import annotations

from collections import defaultdict, deque
from enum import Enum

from rota.backends.backend import TaskRef


class Arrival(Enum):
    STARTS = "starts"
    WAITS = "waits"
    RETURNS = "returns"
    """Nobody of its lane is left to wait for."""


class Lanes:
    def __init__(self) -> None:
        self._active: defaultdict[str, int] = defaultdict(int)
        self._vacated: defaultdict[str, dict[TaskRef, None]] = defaultdict(dict)
        self._waiting: defaultdict[str, deque[TaskRef]] = defaultdict(deque)

    def enters(self, lane: str) -> None:
        """A task with room of its own."""
        self._active[lane] += 1

    def arrives(self, lane: str, ref: TaskRef) -> Arrival:
        """A task on standby."""
        if vacated := self._vacated.get(lane):
            del vacated[next(iter(vacated))]
            self._active[lane] += 1
            self._forget_if_empty(lane)
            return Arrival.STARTS
        if not self._active.get(lane):
            return Arrival.RETURNS
        self._waiting[lane].append(ref)
        return Arrival.WAITS

    def leaves(self, lane: str, ref: TaskRef) -> TaskRef | None:
        """A task has ended: who takes its room."""
        self._active[lane] -= 1
        if waiting := self._waiting.get(lane):
            following = waiting.popleft()
            self._active[lane] += 1
            self._forget_if_empty(lane)
            return following
        self._vacated[lane][ref] = None
        self._forget_if_empty(lane)
        return None

    def are_waiting(self, lane: str) -> bool:
        """Whether there is anybody to take the next room that is left."""
        return lane in self._waiting

    def withdraws(self, lane: str, ref: TaskRef) -> bool:
        """True: it was waiting, and no longer is."""
        waiting = self._waiting.get(lane)
        if not waiting or ref not in waiting:
            return False
        waiting.remove(ref)
        self._forget_if_empty(lane)
        return True

    def settles(self, lane: str, ref: TaskRef) -> None:
        """The server knows of the end, and may have given the room to somebody else."""
        self._vacated[lane].pop(ref, None)
        self._forget_if_empty(lane)

    def _forget_if_empty(self, lane: str) -> None:
        """There may be millions of lanes in the life of a keeper."""
        for each in (self._active, self._vacated, self._waiting):
            if lane in each and not each[lane]:
                del each[lane]
