"""What a plan was decided on, and whether that still holds when it is carried out.

A decision takes its time, and the cluster goes on meanwhile. What has become of a job itself its lifecycle
tells: one that has ended or is held is refused its start. What has become of nodes, of the calendar and of
the room on nodes is told here, at the moment at which a command is tried, on all that is kept by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from rota.control.draft import Draft
from rota.control.memory import Memory
from rota.lifecycle.events import Bound, Evicted, JobEvent, Promised, Seat
from rota.lifecycle.state import JobState, Phase
from rota.loop.live.room_check import Outdated, Room
from rota.model.ids import JobId, NodeName
from rota.model.job import Promise
from rota.model.node import Node
from rota.model.plan import Binding, Eviction
from rota.snapshot.state import Snapshot

Command = Callable[[Draft], object]


class Grounds:
    """Of one plan: made when its snapshot is taken, asked when its commands are tried."""

    def __init__(self, memory: Memory, snapshot: Snapshot) -> None:
        self._memory = memory
        self._nodes: Mapping[NodeName, Node] = memory.shown
        self._calendar = snapshot.calendar
        self._room = Room(lambda: memory.cluster)

    def binding(self, job_id: JobId, bindings: Sequence[Binding]) -> Command:
        seats = tuple(Seat(one.rank, one.node, one.gpu_devices) for one in bindings)
        nodes = [one.node for one in bindings]

        def command(draft: Draft) -> object:
            self._room.forget(job_id)
            self.check(draft, nodes)
            state = _changed(draft, job_id, Bound(seats))
            self._room.take(job_id, bindings)
            return state

        return command

    def standing_by(self, job_id: JobId, node: NodeName) -> Command:
        """It takes over the resources of another task of its array there, and needs none itself."""

        def command(draft: Draft) -> object:
            self.check(draft, [node])
            return _changed(draft, job_id, Bound((Seat(0, node, standby=True),)))

        return command

    def promising(self, job_id: JobId, promise: Promise) -> Command:
        nodes = [one.node for one in promise.placements]

        def command(draft: Draft) -> object:
            self.check(draft, nodes)
            return _changed(draft, job_id, Promised(promise))

        return command

    def evicting(self, job_id: JobId, evictions: Sequence[Eviction], gains: Sequence[Binding]) -> Command:
        """`gains`: what is bound in the place of those that go."""
        first = evictions[0]
        ranks = tuple(sorted(eviction.rank for eviction in evictions))
        ends = any(eviction.ends_job for eviction in evictions)
        event = Evicted(ranks, first.cause, first.preemptor, ends)
        nodes = [*(one.node for one in evictions), *(one.node for one in gains)]

        def command(draft: Draft) -> object:
            self._room.forget(job_id)
            self.check(draft, nodes)
            project = _waiting(draft, first.preemptor).spec.template.project if first.preemptor else ""
            state = _changed(draft, job_id, replace(event, preemptor_project=project))
            self._room.give_back(job_id, evictions)
            return state

        return command

    def check(self, draft: Draft, nodes: Sequence[NodeName]) -> None:
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
    """The load may change at any time, and prevents no start."""
    return node.spec, node.ready, node.cordoned


def _waiting(draft: Draft, preemptor: JobId) -> JobState:
    state = draft.job(preemptor)
    if state is None or state.is_over or state.is_stopping or state.phase is Phase.CREATED:
        raise Outdated(f"job {preemptor} no longer waits for room")
    return state
