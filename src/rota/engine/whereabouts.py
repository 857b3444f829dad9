"""Who is where as the plan grows: what was bound so far, and what runs and isn't evicted."""

from __future__ import annotations

from collections.abc import Callable, Collection

from rota.engine.compile import NETWORK
from rota.model.ids import JobId, NodeName
from rota.model.plan import Binding
from rota.snapshot.nodes import ABSENT
from rota.snapshot.state import Snapshot


class Whereabouts:
    def __init__(
        self,
        snapshot: Snapshot,
        evicted: Collection[tuple[JobId, int]],
        planned_nodes: Callable[[JobId], list[NodeName]],
    ) -> None:
        """`evicted`: tasks that this cycle evicts, as it goes on; `planned_nodes`: where a job will start."""
        self._snapshot = snapshot
        self._evicted = evicted
        self._planned_nodes = planned_nodes
        self.bindings: list[Binding] = []
        self.started: set[JobId] = set()
        """Jobs that got something in this cycle."""

    def is_placed(self, job_id: JobId) -> bool:
        """Whether any task of the job runs or starts."""
        record = self._snapshot.jobs.get(job_id)
        placements = () if record is None else record.placements
        return job_id in self.started or any((job_id, one.rank) not in self._evicted for one in placements)

    def network_of(self, job_id: JobId) -> str:
        """Where a job that others connect to can be reached; empty: from everywhere."""
        nodes: list[NodeName] = [one.node for one in self.bindings if one.job == job_id]
        record = self._snapshot.jobs.get(job_id)
        if record is not None:
            nodes += [one.node for one in record.placements if (job_id, one.rank) not in self._evicted]
        known = self._snapshot.nodes
        labels = known.label(NETWORK)
        positions = [
            known.position[node] for node in nodes or self._planned_nodes(job_id) if node in known.position
        ]
        codes = {int(labels.codes[position]) for position in positions} - {ABSENT}
        return labels.values[min(codes)] if codes else ""
