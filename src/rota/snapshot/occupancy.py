"""What running tasks leave of the nodes, kept up to date as they start and end."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rota.model.job import JobRecord, JobTemplate, Placement
from rota.snapshot import rows
from rota.snapshot.arrays import Int32s, Int64s
from rota.snapshot.demand import Demand, extended_names
from rota.snapshot.gpu import likely_devices, refresh_gpu_rows
from rota.snapshot.nodes import NodeColumns


class Occupancy:
    def __init__(self, nodes: NodeColumns, before: Occupancy | None = None) -> None:
        """Of nodes on which nothing runs. `before`: or as much as there; it is used up. What other programs
        have of the memory is taken as well: that changes at any time, and then there is more room or less."""
        self.nodes = nodes
        self.free: Int64s = nodes.capacity.copy() if before is None else before.free
        self.free[rows.MEMORY] -= nodes.memory_others
        if before is not None:
            self.free[rows.MEMORY] += before.nodes.memory_others
        self.gpu_free: Int32s = nodes.gpu_capacity.copy() if before is None else before.gpu_free

    def has_room_of(self, nodes: NodeColumns) -> bool:
        """Whether these are the same nodes, and each has as much as it had; cordons, labels and loads may be
        others."""
        mine = self.nodes
        return (
            mine.names == nodes.names
            and mine.index.names == nodes.index.names
            and bool((mine.exists == nodes.exists).all())
            and np.array_equal(mine.capacity, nodes.capacity)
            and np.array_equal(mine.gpu_capacity, nodes.gpu_capacity)
        )

    def knows(self, template: JobTemplate) -> bool:
        """Whether there is a row for every resource that the template asks for."""
        known = self.nodes.index.row
        return all(name in known for group in template.groups for name in extended_names(group.spec))

    def shift(self, record: JobRecord, sign: int) -> bool:
        """Subtracts (1) or adds again (-1) what the record's tasks take. False, and nothing done:
        it runs on devices that nobody named, so only a fresh start can tell."""
        if self.lacks_devices(record):
            return False
        self.apply(record, sign)
        return True

    def apply(self, record: JobRecord, sign: int) -> None:
        for placement in record.placements:
            at = self.nodes.position.get(placement.node)
            if at is None:
                continue
            demand = self._demand(record, placement.rank)
            self.free[:, at] -= sign * demand.take
            if demand.uses_gpu:
                for device in placement.gpu_devices:
                    self.gpu_free[at, device] -= sign * demand.gpu.share_milli
                refresh_gpu_rows(self.free, self.gpu_free, at)

    def settled(self, record: JobRecord) -> JobRecord:
        """The record with devices for the GPU tasks of which nobody said which they have, out of
        those that nobody is known to have."""
        used = self.gpu_free.copy()
        for placement in record.placements:
            at = self.nodes.position.get(placement.node)
            if at is not None and not self._is_unsettled(record, placement):
                share = self._demand(record, placement.rank).gpu.share_milli
                used[at, list(placement.gpu_devices)] -= share
        placements = []
        for placement in record.placements:
            if self._is_unsettled(record, placement):
                at = self.nodes.position[placement.node]
                gpu = self._demand(record, placement.rank).gpu
                # Only devices that exist: beside a node with more the row is longer than this one's.
                devices = likely_devices(used[at, : self.nodes.specs[at].gpus.count], gpu)
                used[at, list(devices)] -= gpu.share_milli
                placement = replace(placement, gpu_devices=devices)
            placements.append(placement)
        return replace(record, placements=tuple(placements))

    def _demand(self, record: JobRecord, rank: int) -> Demand:
        job = record.job
        return self.nodes.demand(job.template.groups[job.group_of(rank)].spec)

    def lacks_devices(self, record: JobRecord) -> bool:
        return any(self._is_unsettled(record, placement) for placement in record.placements)

    def _is_unsettled(self, record: JobRecord, placement: Placement) -> bool:
        """Whether it uses GPUs of which nobody said which, or said some that the node hasn't."""
        at = self.nodes.position.get(placement.node)
        if at is None or not self._demand(record, placement.rank).uses_gpu:
            return False
        count = self.nodes.specs[at].gpus.count
        return not placement.gpu_devices or max(placement.gpu_devices) >= count
