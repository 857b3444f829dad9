"""Arrays of short tasks: the next ones are handed to the node ahead, to start as soon as one ends.

A task of a few milliseconds would otherwise wait longer for its turn (report, decision, transaction) than it
runs. Only where nobody else waits for the room, and only for work of `WINDOW_MS`: whoever comes in is served
as soon as that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rota.control.draft import Draft
from rota.control.memory import Memory
from rota.control.rooms import array_of
from rota.lifecycle.events import Bound, Seat
from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.plan import Plan
from rota.model.verdict import Kind
from rota.store.batch import Batch

WINDOW_MS = 200
SHORT_MS = 100
"""Longer tasks don't gain by it."""
MOST = 512
"""Per array and node."""
_WEIGHT = 0.2


class Standby:
    def __init__(self) -> None:
        self._mean_ms: dict[str, float] = {}
        """How long tasks of an array run, lately."""
        self._live: dict[str, dict[JobId, LiveTask]] = {}
        """Elements of arrays that have a node."""

    def kept(self, batch: Batch) -> None:
        for state in batch.jobs:
            array = array_of(state.id)
            if array:
                self._follow(array, state)
        for attempt in batch.attempts:
            array = array_of(attempt.job)
            if array and attempt.started_ms is not None and attempt.ended_ms is not None:
                run_ms = attempt.ended_ms - attempt.started_ms
                mean_ms = self._mean_ms.get(array, float(run_ms))
                self._mean_ms[array] = mean_ms + _WEIGHT * (run_ms - mean_ms)

    def _follow(self, array: str, state: JobState) -> None:
        live = self._live.setdefault(array, {})
        live.pop(state.id, None)
        # More tasks than one would have to start together: those are none for standby.
        if state.live and state.spec.template.task_count == 1:
            live[state.id] = state.live[0]
        elif not live:
            del self._live[array]
            self._mean_ms.pop(array, None)

    def commands(
        self, plan: Plan, memory: Memory, now_ms: int
    ) -> Iterator[tuple[JobId, Callable[[Draft], object]]]:
        waiting = [entry.jobs for entry in plan.waiting if entry.verdict.kind is Kind.NOT_NOW]
        if len(waiting) != 1 or plan.evictions:
            return
        array = array_of(waiting[0][0])
        mean_ms = self._mean_ms.get(array)
        if mean_ms is None or mean_ms > SHORT_MS or array_of(waiting[0][-1]) != array:
            return
        following = iter(waiting[0])
        for node, (running, ready) in self._on_nodes(array).items():
            wanted = min(MOST, int(running * WINDOW_MS / max(1.0, mean_ms)))
            # Topped up when half of it is used, so that a cycle is worth its while.
            if running and ready <= wanted // 2:
                for _ in range(wanted - ready):
                    job_id = next(following, None)
                    if job_id is None:
                        return
                    yield job_id, _standing_by(job_id, node)

    def _on_nodes(self, array: str) -> dict[NodeName, tuple[int, int]]:
        """How many of its tasks run on each node, and how many stand by."""
        found: dict[NodeName, tuple[int, int]] = {}
        for task in self._live.get(array, {}).values():
            running, ready = found.get(task.node, (0, 0))
            is_ready = task.phase is TaskPhase.STANDBY
            found[task.node] = (running + (not is_ready), ready + is_ready)
        return found


def _standing_by(job_id: JobId, node: NodeName) -> Callable[[Draft], object]:
    def command(draft: Draft) -> object:
        return draft.change(job_id, Bound((Seat(0, node, standby=True),)))

    return command
