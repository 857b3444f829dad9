"""Whether what was decided can still be done: pods, nodes and room may be others by now.

The API server binds a pod to any node that it is told to. Whether that was cordoned or given to others while
we decided is ours to look at.
"""

from __future__ import annotations

from rota.kube.mirror.mirror import Mirror
from rota.kube.scheduling.binding import Placing
from rota.kube_objects.pods import PodState
from rota.loop.live.room_check import Outdated, Room
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.plan import Binding, Eviction, Plan
from rota.snapshot.state import Snapshot


class StillRoom:
    """Of one plan, while it is carried out."""

    def __init__(self, mirror: Mirror, snapshot: Snapshot, plan: Plan) -> None:
        self._mirror = mirror
        self._snapshot = snapshot
        self._room = Room(lambda: mirror.state)
        self._bindings: dict[JobId, list[Binding]] = {}
        for binding in plan.bindings:
            self._bindings.setdefault(binding.job, []).append(binding)
        victims: dict[JobId, list[Eviction]] = {}
        for eviction in plan.evictions:
            victims.setdefault(eviction.job, []).append(eviction)
        for job_id, evictions in victims.items():
            self._room.give_back(job_id, evictions)

    def is_there_for(self, placing: Placing) -> bool:
        if not all(map(self._waits, placing.nodes)) or not all(map(self._is_same, placing.nodes.values())):
            return False
        try:
            self._room.take(placing.job, self._bindings[placing.job])
        except Outdated:
            return False
        return True

    def _waits(self, name: TaskName) -> bool:
        task = self._mirror.task(name)
        return task is not None and task.state is PodState.WAITING

    def _is_same(self, name: NodeName) -> bool:
        was, now = self._snapshot.nodes, self._mirror.state.occupancy().nodes
        if was is now:
            return True
        before, after = was.position.get(name), now.position.get(name)
        return (
            before is not None
            and after is not None
            and was.specs[before] == now.specs[after]
            and was.ready[before] == now.ready[after]
            and was.cordoned[before] == now.cordoned[after]
        )
