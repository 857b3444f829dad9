"""How good a node is for a task: the criteria, and their weighted sum.

Every criterion gives whole numbers from 0 to 1000. Fractions are products of two doubles, cut off
to whole numbers one by one before they are added: each step is exactly defined by IEEE 754, so
every machine gets the same scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rota.model.policy import Strategy
from rota.model.task import CostGoal, TaskSpec
from rota.snapshot import rows
from rota.snapshot.demand import Demand
from rota.snapshot.nodes import NodeColumns

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

FULL = 1000

OPENED_BONUS = 1 << 40
"""A node that runs is taken before one that would have to be started first."""
PRICE_STEP = 1 << 44
"""For a job that asks for the cheapest node, a lower price outweighs all else."""


def scored_rows(demand: Demand) -> tuple[int, ...]:
    """The resources by which a node's utilisation is judged for this task: those it asks for."""
    asked = tuple(row for row in (rows.CPU, rows.MEMORY, rows.GPU_MILLI) if demand.take[row] > 0)
    return asked or (rows.SLOTS,)


def free_share(after: Int64s, per_mille: Floats) -> Int64s:
    """What will be free, in thousandths of the node."""
    return (after * per_mille).astype(np.int64)


def utilisation(strategy: Strategy, shares: Sequence[Int64s]) -> Int64s:
    """`shares`: of each scored resource, the free thousandths after the placement."""
    if strategy is Strategy.BALANCED:
        if len(shares) == 1:
            return np.full_like(shares[0], FULL)
        stacked = np.stack(shares)
        unevenness: Int64s = stacked.max(axis=0) - stacked.min(axis=0)
        return FULL - unevenness
    mean = shares[0]
    if len(shares) > 1:
        for share in shares[1:]:
            mean = mean + share
        mean = mean // len(shares)
    return FULL - mean if strategy is Strategy.BIN_PACKING else mean


def task_price_micro(demand: Demand, nodes: NodeColumns) -> Int64s:
    """What an hour of the task costs on each node: its largest share of the node's price. A node
    that has to be started for it costs the whole price."""
    share = np.zeros(len(nodes), dtype=np.float64)
    for row in (rows.CPU, rows.MEMORY, rows.STORAGE, rows.GPU_MILLI, rows.SHARES):
        if demand.take[row] > 0:
            np.maximum(share, demand.take[row] * nodes.per_mille[row], out=share)
    shared = np.ceil(nodes.price_micro * np.minimum(share, 1000.0) / 1000.0).astype(np.int64)
    return np.where(nodes.exists, shared, nodes.price_micro)


def cheapness(demand: Demand, nodes: NodeColumns) -> Int64s:
    """FULL for a node that costs nothing, 0 for the dearest."""
    price = task_price_micro(demand, nodes)
    dearest = int(price.max(initial=0))
    return FULL - price * FULL // dearest if dearest else np.full(len(nodes), FULL, dtype=np.int64)


def price_rank(spec: TaskSpec, demand: Demand, nodes: NodeColumns) -> Int64s | None:
    """For a job that asks for the cheapest: a bonus that orders the nodes by price alone."""
    if spec.cost_goal is not CostGoal.CHEAPEST:
        return None
    price = task_price_micro(demand, nodes)
    distinct, rank = np.unique(price, return_inverse=True)
    return (len(distinct) - 1 - rank.astype(np.int64)) * PRICE_STEP
