"""What a plan was decided on, and whether that still holds when it is carried out.

A decision takes its time, and the cluster goes on meanwhile. What has become of a job itself its lifecycle
tells: one that has ended or is held is refused its start. What has become of nodes, of the calendar and of
the room on nodes is told here, at the moment at which a command is tried, on all that is kept by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rota.control.draft import Draft
from rota.control.errors import Conflict
from rota.control.memory import Memory
from rota.lifecycle.events import Bound, Evicted, JobEvent, Promised, Seat
from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId, NodeName
from rota.model.job import Placement, Promise
from rota.model.node import Node
from rota.model.plan import Binding, Eviction
from rota.snapshot import rows
from rota.snapshot.demand import Demand
from rota.snapshot.occupancy import Occupancy
from rota.snapshot.state import Snapshot

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Command = Callable[[Draft], object]

_BY_DEVICE = frozenset((rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST))
"""Rows that follow from the devices, which are looked at one by one."""


class Outdated(Conflict):
    """It was decided on something that has changed. The next decision sees it as it is."""


class Grounds:
    """Of one plan: made when its snapshot is taken, asked when its commands are tried."""

    def __init__(self, memory: Memory, snapshot: Snapshot) -> None:
        self._memory = memory
        self._nodes: Mapping[NodeName, Node] = memory.shown
        self._calendar = snapshot.calendar
        self._room = _Room(memory)

    def binding(self, job_id: JobId, bindings: Sequence[Binding]) -> Command:
        seats = tuple(Seat(one.rank, one.node, one.gpu_devices) for one in bindings)
        nodes = [one.node for one in bindings]

        def command(draft: Draft) -> object:
            self._room.forget(job_id)
            self._check(draft, nodes)
            state = _changed(draft, job_id, Bound(seats))
            self._room.take(job_id, bindings)
            return state

        return command

    def standing_by(self, job_id: JobId, node: NodeName) -> Command:
        """For a room that somebody of its array has there: it takes none of its own."""

        def command(draft: Draft) -> object:
            self._check(draft, [node])
            return _changed(draft, job_id, Bound((Seat(0, node, standby=True),)))

        return command

    def promising(self, job_id: JobId, promise: Promise) -> Command:
        nodes = [one.node for one in promise.placements]

        def command(draft: Draft) -> object:
            self._check(draft, nodes)
            return _changed(draft, job_id, Promised(promise))

        return command

    def evicting(self, job_id: JobId, evictions: Sequence[Eviction], gains: Sequence[Binding]) -> Command:
        """`gains`: what is bound in the place of those that go."""
        first = evictions[0]
        ranks = tuple(sorted(eviction.rank for eviction in evictions))
        ends = any(eviction.ends_job for eviction in evictions)
        event: JobEvent = Evicted(ranks, first.cause, first.preemptor, ends)
        nodes = [*(one.node for one in evictions), *(one.node for one in gains)]

        def command(draft: Draft) -> object:
            self._room.forget(job_id)
            self._check(draft, nodes)
            if first.preemptor:
                _check_waits(draft, first.preemptor)
            state = _changed(draft, job_id, event)
            self._room.give_back(job_id, evictions)
            return state

        return command

    def _check(self, draft: Draft, nodes: Sequence[NodeName]) -> None:
        calendar = self._memory.cluster.calendar
        is_same = calendar is self._calendar or calendar == self._calendar
        if not is_same or draft.changes_cluster:
            raise Outdated("the calendar or a node was changed since this was decided")
        for name in nodes:
            was, now = self._nodes.get(name), self._memory.node(name)
            if was is not now and (was is None or now is None or _of_interest(was) != _of_interest(now)):
                raise Outdated(f"node {name} was changed since this was decided")


def changing(job_id: JobId, event: JobEvent) -> Command:
    """Of what is decided by a job and the time alone."""
    return lambda draft: _changed(draft, job_id, event)


def _changed(draft: Draft, job_id: JobId, event: JobEvent) -> JobState:
    if draft.job(job_id) is None:
        raise Outdated(f"job {job_id} is long over")
    return draft.change(job_id, event)


def _of_interest(node: Node) -> tuple[object, ...]:
    """How busy it is may change at any time, and keeps nobody from starting."""
    return node.spec, node.ready, node.cordoned


def _check_waits(draft: Draft, preemptor: JobId) -> None:
    state = draft.job(preemptor)
    if state is None or state.is_over or state.is_stopping or state.phase is Phase.CREATED:
        raise Outdated(f"job {preemptor} no longer waits for room")


class _Room:
    """What is left on the nodes of a plan as far as it has been tried. What is kept counts as soon as it is:
    then all is looked at anew."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._occupancy: Occupancy | None = None
        self._generation = -1
        self._left: dict[int, tuple[Int64s, Int32s]] = {}
        """By position: rows and devices."""
        self._moves: dict[JobId, list[tuple[int, Demand, tuple[int, ...], int]]] = {}
        """Of what was tried and not kept yet. A command may be tried twice."""

    def forget(self, job_id: JobId) -> None:
        self._now()
        for at, demand, devices, sign in self._moves.pop(job_id, ()):
            self._move(at, demand, devices, -sign)

    def take(self, job_id: JobId, bindings: Sequence[Binding]) -> None:
        """All of it, or Outdated and nothing."""
        nodes, cluster = self._now().nodes, self._memory.cluster
        if not cluster.has_job(job_id):
            raise Outdated(f"job {job_id} didn't wait for room all the time")
        record = cluster.record(job_id)
        moves = self._moves[job_id] = []
        for one in bindings:
            at = nodes.position[one.node]
            demand = nodes.demand(record.job.template.groups[record.job.group_of(one.rank)].spec)
            moves.append((at, demand, one.gpu_devices, 1))
            self._move(*moves[-1])
            if not self._holds(at, demand, one.gpu_devices):
                self.forget(job_id)
                raise Outdated(f"what was free on node {one.node} when this was decided is taken")

    def give_back(self, job_id: JobId, evictions: Sequence[Eviction]) -> None:
        nodes, moves = self._now().nodes, []
        if self._memory.cluster.has_job(job_id):
            record = self._memory.cluster.record(job_id)
            placed: dict[int, Placement] = {one.rank: one for one in record.placements}
            for eviction in evictions:
                there = placed.get(eviction.rank)
                if there is not None and there.node in nodes.position:
                    demand = nodes.demand(record.job.template.groups[record.job.group_of(there.rank)].spec)
                    moves.append((nodes.position[there.node], demand, there.gpu_devices, -1))
                    self._move(*moves[-1])
        self._moves[job_id] = moves

    def _now(self) -> Occupancy:
        cluster = self._memory.cluster
        if self._occupancy is None or self._generation != cluster.generation:
            self._occupancy, self._generation = cluster.occupancy(), cluster.generation
            self._left.clear()
            self._moves.clear()
        return self._occupancy

    def _move(self, at: int, demand: Demand, devices: tuple[int, ...], sign: int) -> None:
        free, gpu_free = self._at(at)
        free -= sign * demand.take
        for device in devices:
            gpu_free[device] -= sign * demand.gpu.share_milli

    def _at(self, at: int) -> tuple[Int64s, Int32s]:
        left = self._left.get(at)
        if left is None:
            occupancy = self._now()
            left = self._left[at] = occupancy.free[:, at].copy(), occupancy.gpu_free[at].copy()
        return left

    def _holds(self, at: int, demand: Demand, devices: tuple[int, ...]) -> bool:
        """Whether there is no less than nothing left of anything that the task asks for."""
        free, gpu_free = self._at(at)
        return all(free[row] >= 0 for row, _ in demand.asked if row not in _BY_DEVICE) and all(
            gpu_free[device] >= 0 for device in devices
        )
