"""Whose room is whose, where tasks stand by: an end leaves its room to the next of its array on that node.

The node starts that one at once, and its report may come a little later than that of the end. In between the
room must look taken, or somebody else would be given it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.model.ids import JobId, NodeName

Lane = tuple[str, NodeName]
"""Elements of one array on one node: equal in what they take."""


class StandbyRooms:
    def __init__(self) -> None:
        self._waiting: dict[Lane, dict[JobId, None]] = {}
        """Who stands by, in the order in which they will start."""
        self._heirs: set[JobId] = set()
        """Those of them to whom an end has left its room, and whose start isn't known yet."""

    def holds_room(self, job_id: JobId) -> bool:
        return job_id in self._heirs

    def changed(self, before: Mapping[JobId, JobState], after: Iterable[JobState]) -> list[JobId]:
        """Of changes that are kept together, who inherits a room by them."""
        left: Counter[Lane] = Counter()
        for state in after:
            array = array_of(state.id)
            if not array:
                continue
            old, new = _task(before.get(state.id)), _task(state)
            if old is not None:
                self._leave(state.id, array, old, new, left)
            if new is not None and new.phase is TaskPhase.STANDBY and state.id not in self._heirs:
                self._waiting.setdefault((array, new.node), {}).setdefault(state.id)
        heirs: list[JobId] = []
        for lane, count in left.items():
            heirs += self._inherit(lane, count)
        return heirs

    def _leave(
        self, job_id: JobId, array: str, old: LiveTask, new: LiveTask | None, left: Counter[Lane]
    ) -> None:
        lane = array, old.node
        had_room = old.holds_room or job_id in self._heirs
        has_room = new is not None and new.holds_room
        if old.phase is TaskPhase.STANDBY and (new is None or new.phase is not TaskPhase.STANDBY):
            self._heirs.discard(job_id)
            self._forget(lane, job_id)
        elif job_id in self._heirs:
            return
        left[lane] += had_room - has_room

    def _forget(self, lane: Lane, job_id: JobId) -> None:
        waiting = self._waiting.get(lane)
        if waiting is not None:
            waiting.pop(job_id, None)
            if not waiting:
                del self._waiting[lane]

    def _inherit(self, lane: Lane, count: int) -> list[JobId]:
        heirs = list(self._waiting.get(lane, ()))[: max(0, count)]
        for job_id in heirs:
            self._forget(lane, job_id)
            self._heirs.add(job_id)
        return heirs


def with_room(state: JobState) -> JobState:
    """As if it had started already."""
    return replace(state, live=tuple(replace(task, phase=TaskPhase.BOUND) for task in state.live))


def array_of(job_id: JobId) -> str:
    """The number that an element's id begins with; empty: it is a job by itself."""
    number, dot, _ = job_id.partition(".")
    return number if dot else ""


def _task(state: JobState | None) -> LiveTask | None:
    """Only jobs of one task stand by."""
    return state.live[0] if state is not None and len(state.live) == 1 else None
