"""Whose room is whose, where tasks stand by: an end leaves its room to the next of its array on that node.

The node starts that one at once. Of the end and of that start, either report may come first. In between the
room must look taken, or somebody else would be given it; and not twice, or a free one would look taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice

from msgspec.structs import replace

from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.model.ids import JobId, NodeName

Lane = tuple[str, NodeName]
"""Elements of one array on one node: equal in what they take."""


class StandbyRooms:
    def __init__(self) -> None:
        self._waiting: dict[Lane, dict[JobId, bool]] = {}
        """Who has inherited no room yet, in the order in which they were handed to the node, and whether they
        run already."""

    def are_waiting(self, array: str, node: NodeName) -> bool:
        """Then none of the rooms that its elements have left there is empty."""
        return (array, node) in self._waiting

    def waiting(self, array: str, node: NodeName) -> list[JobId]:
        """For a room there, in the order in which they will start, or have."""
        return list(self._waiting.get((array, node), ()))

    def heirs(self, before: Mapping[JobId, JobState], after: Mapping[JobId, JobState]) -> list[JobId]:
        """Of changes that are to be kept together, who inherits a room by them. It is kept along with them:
        a server that comes after this one has to know as well whose the room is."""
        left: Counter[Lane] = Counter()
        for job_id, state in after.items():
            array = array_of(job_id)
            old = _task(before.get(job_id)) if array else None
            if old is not None:
                new = _task(state)
                has_room = new is not None and new.fence == old.fence and new.has_room
                left[array, old.node] += old.has_room - has_room
        heirs: list[JobId] = []
        for lane, count in left.items():
            if count > 0:
                heirs += islice(self._waiting_after(lane, after), count)
        return heirs

    def _waiting_after(self, lane: Lane, after: Mapping[JobId, JobState]) -> list[JobId]:
        """Those who run first: the rooms that they run in are the ones that were left."""
        waiting = dict(self._waiting.get(lane, {}))
        for job_id, state in after.items():
            if _lane_of(state) == lane:
                waiting[job_id] = _runs(state)
            else:
                waiting.pop(job_id, None)
        return sorted(waiting, key=lambda job_id: not waiting[job_id])

    def changed(self, before: Mapping[JobId, JobState], after: Iterable[JobState]) -> None:
        """What was kept."""
        for state in after:
            was, now = _lane_of(before.get(state.id)), _lane_of(state)
            if was is not None and was != now:
                waiting = self._waiting[was]
                del waiting[state.id]
                if not waiting:
                    del self._waiting[was]
            if now is not None:
                self._waiting.setdefault(now, {})[state.id] = _runs(state)


def inheriting(state: JobState) -> JobState:
    return replace(state, live=tuple(replace(task, roomless=False) for task in state.live))


def array_of(job_id: JobId) -> str:
    """The number that an element's id begins with; empty: it is a job by itself."""
    number, dot, _ = job_id.partition(".")
    return number if dot else ""


def _task(state: JobState | None) -> LiveTask | None:
    """Only jobs of one task stand by."""
    return state.live[0] if state is not None and len(state.live) == 1 else None


def _runs(state: JobState) -> bool:
    task = _task(state)
    return task is not None and task.phase is TaskPhase.RUNNING


def _lane_of(state: JobState | None) -> Lane | None:
    """Where it stands by for a room, or runs in one that nobody is known to have left; None: it doesn't."""
    if state is None or not (array := array_of(state.id)):
        return None
    task = _task(state)
    if task is None or not task.roomless or task.phase is TaskPhase.STOPPING:
        return None
    return array, task.node
