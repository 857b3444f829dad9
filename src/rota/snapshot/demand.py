"""A task's requests as vectors over the resource rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rota.model.resources import GpuRequest, Resources
from rota.model.task import TaskSpec
from rota.snapshot import rows
from rota.snapshot.arrays import Int64s
from rota.snapshot.rows import ResourceRows, port_amounts

NOT_ASKED = -(1 << 60)
"""Threshold of a row the task doesn't ask for: met even by a node that is overbooked there."""


@dataclass(frozen=True, eq=False)
class Demand:
    take: Int64s
    """What placing one task subtracts from each row (the GPU rows follow from the devices)."""
    need: Int64s
    """What each row must hold for the task to fit; NOT_ASKED where it doesn't matter."""
    gpu: GpuRequest
    asked: tuple[tuple[int, int], ...]
    """(row, threshold) of the rows that matter."""
    shared: tuple[tuple[int, int], ...]
    """(index into rows.SHARED, amount) of those rows it takes from."""

    @property
    def uses_gpu(self) -> bool:
        return self.gpu.count > 0

    @cached_property
    def taken_rows(self) -> Int64s:
        """[row, 1] those that placing a task takes from."""
        return np.flatnonzero(self.take)[:, None]

    @cached_property
    def taken(self) -> Int64s:
        """[row, 1] what it takes from these."""
        return self.take[self.taken_rows]


def named_amounts(resources: Resources) -> dict[str, int]:
    """Amounts by row name, zeros left out."""
    amounts = {
        "cpu": resources.cpu_milli,
        "memory": resources.memory_bytes,
        "storage": resources.storage_bytes,
        "slots": resources.slots,
        **dict(resources.extended),
    }
    return {name: amount for name, amount in amounts.items() if amount}


def extended_names(spec: TaskSpec) -> set[str]:
    """Rows that this task needs beyond the fixed ones."""
    names = {name for name, _ in spec.requests.extended} | {name for name, _ in spec.overhead.extended}
    names |= {name for name, _ in spec.attached}
    return names.union(name for port in spec.ports for name, _ in port_amounts(port))


def demand_of(spec: TaskSpec, index: ResourceRows) -> Demand:
    amounts = named_amounts(spec.requests.plus(spec.overhead))
    amounts["slots"] = max(1, amounts.get("slots", 0))
    amounts["shares"] = rows.NODE_SHARES if spec.exclusive else int(not spec.of_its_node)
    for port in spec.ports:
        amounts.update(port_amounts(port))
    amounts.update(spec.attached)
    take = np.zeros(len(index), dtype=np.int64)
    for name, amount in amounts.items():
        take[index.row[name]] = amount
    need = np.where(take > 0, take, NOT_ASKED)
    if spec.gpu.count:
        take[rows.GPU_MILLI] = need[rows.GPU_MILLI] = spec.gpu.total_milli
        if spec.gpu.is_fraction:
            need[rows.GPU_BEST] = spec.gpu.share_milli
        else:
            need[rows.GPU_IDLE] = spec.gpu.count
    asked = tuple((int(row), int(need[row])) for row in np.flatnonzero(need > 0))
    shared = tuple((at, int(take[row])) for at, row in enumerate(rows.SHARED) if take[row])
    return Demand(take, need, spec.gpu, asked, shared)
