"""How good a node is for a task: the criteria, and their weighted sum.

A criterion gives 0 to FULL (a million). Utilisation and load are made of free shares (see
`board.ShareColumn`), so that for most strategies a score is a sum: what the node has free, less
what the task takes of it, plus what never changes. SCALE makes means of up to three resources
whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.model.policy import Strategy, Weights
from rota.model.task import CostGoal, TaskSpec
from rota.snapshot import rows
from rota.snapshot.arrays import Int64s
from rota.snapshot.demand import Demand
from rota.snapshot.nodes import NodeColumns

FULL = 1_000_000
SCALE = 6
LEVEL = 1 << 20
"""Added to every score so that rounding can't make one negative: below 0 means refused."""
REFUSED = -(1 << 60)
OPENED_BONUS = 1 << 40
"""A node that runs is taken before one that would have to be started first."""
PRICE_STEP = 1 << 44
"""For a job that asks for the cheapest node, a lower price outweighs all else."""

_SLOTS = rows.SHARED.index(rows.SLOTS)


def judged_shares(demand: Demand) -> tuple[int, ...]:
    """By which of rows.SHARED a node's utilisation is judged for this task: those it asks for."""
    asked = tuple(at for at, _ in demand.shared if at != _SLOTS)
    return asked or (_SLOTS,)


def share_weights(strategy: Strategy, weights: Weights, judged: tuple[int, ...]) -> tuple[int, ...]:
    """How much each free share counts in the score, for the criteria that are sums of them."""
    result = [0] * len(rows.SHARED)
    result[_SLOTS] = SCALE * weights.load
    sign = {Strategy.LEAST_LOADED: 1, Strategy.BIN_PACKING: -1}.get(strategy, 0)
    for at in judged:
        result[at] += sign * weights.utilisation * SCALE // len(judged)
    return tuple(result)


def utilisation(strategy: Strategy, after: Sequence[Int64s]) -> Int64s:
    """The criterion from the free shares after the placement, of each judged resource."""
    stacked = np.stack(after)
    if strategy is Strategy.BALANCED:
        evenness: Int64s = FULL - (stacked.max(axis=0) - stacked.min(axis=0))
        return evenness
    mean: Int64s = stacked.sum(axis=0) // len(after)
    return FULL - mean if strategy is Strategy.BIN_PACKING else mean


def task_price_micro(demand: Demand, nodes: NodeColumns) -> Int64s:
    """What an hour of the task costs on each node: its largest share of the node's price. A node
    that has to be started for it costs the whole price."""
    share = np.zeros(len(nodes), dtype=np.float64)
    for row in (rows.CPU, rows.MEMORY, rows.STORAGE, rows.GPU_MILLI, rows.SHARES):
        if demand.take[row] > 0:
            np.maximum(share, demand.take[row] * nodes.ppm[row], out=share)
    shared = np.ceil(nodes.price_micro * np.minimum(share, FULL) / FULL).astype(np.int64)
    return np.where(nodes.exists, shared, nodes.price_micro)


def cheapness(demand: Demand, nodes: NodeColumns) -> Int64s:
    """FULL for a node that costs nothing, 0 for the dearest."""
    price = task_price_micro(demand, nodes)
    dearest = int(price.max(initial=0))
    if not dearest:
        return np.full(len(nodes), FULL, dtype=np.int64)
    return FULL - (price * (FULL / dearest)).astype(np.int64)


def price_rank(spec: TaskSpec, demand: Demand, nodes: NodeColumns) -> Int64s | None:
    """For a job that asks for the cheapest: a bonus that orders the nodes by price alone."""
    if spec.cost_goal is not CostGoal.CHEAPEST:
        return None
    distinct, rank = np.unique(task_price_micro(demand, nodes), return_inverse=True)
    return (len(distinct) - 1 - rank.astype(np.int64)) * PRICE_STEP
