"""Arrays of short tasks: the next ones are handed to the node ahead, to start as soon as one ends.

A task of a few milliseconds would otherwise wait longer for its turn (report, decision, transaction) than it
runs. Only where nobody else waits for the room, and only for work of `WINDOW_MS`: whoever comes in is served
as soon as that is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from rota.control.rooms import array_of
from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.plan import Plan
from rota.model.reasons import Insufficient, NodeExclusive, NodeInUse, PortTaken
from rota.model.verdict import Kind, Verdict
from rota.store.writing.batch import Batch

WINDOW_MS = 200
SHORT_MS = 100
"""Longer tasks don't gain by it."""
MOST = 512
"""Per array and node."""
_WEIGHT = 0.2
_ROOM = (Insufficient, NodeInUse, NodeExclusive, PortTaken)


class _OnNode(Struct):
    """Elements of one array there."""

    running: int = 0
    ready: int = 0
    """On standby."""

    def count(self, task: LiveTask, sign: int) -> None:
        if task.phase is TaskPhase.STANDBY:
            self.ready += sign
        else:
            self.running += sign


class Standby:
    def __init__(self) -> None:
        self._mean_ms: dict[str, float] = {}
        """How long tasks of an array run, lately."""
        self._live: dict[str, dict[JobId, LiveTask]] = {}
        """Elements of arrays that have a node."""
        self._on_nodes: dict[str, dict[NodeName, _OnNode]] = {}
        """They, counted."""

    def kept(self, batch: Batch) -> bool:
        """Whether it is time to hand more to a node, if there is more."""
        arrays: set[str] = set()
        for state in batch.jobs:
            array = array_of(state.id)
            if array:
                arrays.add(array)
                self._follow(array, state)
        for attempt in batch.attempts:
            array = array_of(attempt.job)
            if array and attempt.started_ms is not None and attempt.ended_ms is not None:
                run_ms = attempt.ended_ms - attempt.started_ms
                mean_ms = self._mean_ms.get(array, float(run_ms))
                self._mean_ms[array] = mean_ms + _WEIGHT * (run_ms - mean_ms)
        return any(self._missing(array) for array in arrays)

    def _follow(self, array: str, state: JobState) -> None:
        live = self._live.setdefault(array, {})
        on_nodes = self._on_nodes.setdefault(array, {})
        before = live.pop(state.id, None)
        if before is not None:
            on_nodes[before.node].count(before, -1)
        # More tasks than one would have to start together: those are none for standby.
        if state.live and state.spec.template.task_count == 1:
            task = live[state.id] = state.live[0]
            on_nodes.setdefault(task.node, _OnNode()).count(task, 1)
        elif not live:
            del self._live[array]
            del self._on_nodes[array]
            self._mean_ms.pop(array, None)

    def _missing(self, array: str) -> dict[NodeName, int]:
        """How many to hand to each node. Topped up when half is used, so that it is worth a cycle."""
        mean_ms = self._mean_ms.get(array)
        if mean_ms is None or mean_ms > SHORT_MS:
            return {}
        missing = {}
        for node, counted in self._on_nodes.get(array, {}).items():
            wanted = min(MOST, int(counted.running * WINDOW_MS / max(1.0, mean_ms)))
            if counted.running and counted.ready <= wanted // 2:
                missing[node] = wanted - counted.ready
        return missing

    def seats(self, plan: Plan) -> Iterator[tuple[JobId, NodeName]]:
        """Who is to stand by, and where."""
        waiting = [entry for entry in plan.waiting if entry.verdict.kind is Kind.NOT_NOW]
        if len(waiting) != 1 or plan.evictions or not _waits_for_room(waiting[0].verdict):
            return
        jobs = waiting[0].jobs
        array = array_of(jobs[0])
        if not array or array_of(jobs[-1]) != array:
            return
        following = iter(jobs)
        for node, count in self._missing(array).items():
            for job_id in islice(following, count):
                yield job_id, node


def _waits_for_room(verdict: Verdict) -> bool:
    """And for nothing else: a pause before a retry, a queue that opens, a node that drains."""
    reasons = [refusal.reason for refusal in verdict.refusals]
    return all(reason.kind is Kind.NEVER or isinstance(reason, _ROOM) for reason in reasons)
