"""What each further task of a job would cost on each node in victims, and the cheapest of these steps."""

from __future__ import annotations

import heapq
from enum import Enum

import numpy as np

from rota.engine.evicting.victims import Unit, Victims
from rota.engine.placing.board import Board
from rota.engine.placing.signature import Signature
from rota.engine.placing.work import Work
from rota.snapshot import rows
from rota.snapshot.arrays import Bools, Int64s
from rota.snapshot.demand import Demand


class VictimOrder(Enum):
    """Who goes first on a node, after those who take the fewest others along."""

    LARGEST = "largest"
    CHEAPEST = "cheapest"


def cheapest_steps(
    work: Work, board: Board, victims: Victims, eligible: Bools, order: VictimOrder, within: Bools | None
) -> list[Unit] | None:
    """The units to evict for the largest group, by amounts alone; None: there aren't enough.

    For every node its candidates are put in order, and the room after each is summed up. A step is
    what it takes to gain room for one more task.
    """
    group = _largest_group(work)
    signature = work.signatures[group]
    candidates, together = victims.candidates(eligible)
    usable = signature.static_mask if within is None else signature.static_mask & within
    there = usable[victims.running.node[candidates]]
    candidates, together = candidates[there], together[there]
    if not len(candidates):
        return None
    free_room = int(signature.capacity(np.flatnonzero(signature.feasible_scores(within) >= 0)).sum())
    wanted, least = work.total - free_room, work.needed - free_room
    if len(work.counts) > 1:
        wanted, least = work.counts[group] - free_room, 1
    ranked = _ranked(candidates, together, victims, board, signature.demand, order)
    candidates, together = candidates[ranked], together[ranked]
    steps = _Steps(board, victims, signature, candidates, together)
    picked: list[int] = []
    gained = 0
    while gained < wanted and (step := steps.cheapest()) is not None:
        first, last, gain = step
        picked += range(first, last)
        gained += gain
    if gained < least or not picked:
        return None
    return victims.units(candidates[picked].tolist(), eligible)


class _Steps:
    """Steps of all nodes; within a node they come in order, between nodes the cheapest first."""

    def __init__(
        self, board: Board, victims: Victims, signature: Signature, candidates: Int64s, together: Int64s
    ) -> None:
        node = victims.running.node[candidates].astype(np.int64)
        starts = np.flatnonzero(np.diff(node, prepend=-1))
        owner = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(node)]))
        room = _room_after(board, signature.demand, victims, candidates, node, starts, owner)
        before = np.r_[0, room[:-1]]
        before[starts] = signature.capacity(node[starts])
        ends = np.flatnonzero(room > before)
        begins = np.r_[0, ends[:-1] + 1] if len(ends) else ends
        begins = np.maximum(begins, starts[owner[ends]])
        cost = np.r_[0, np.cumsum(_tasks_lost(victims, candidates, together, node))]
        self._ends = (ends + 1).tolist()
        self._begins = begins.tolist()
        self._gains = (room - before)[ends].tolist()
        self._costs = (cost[ends + 1] - cost[begins]).tolist()
        self._owner = owner[ends].tolist()
        self._scores = (-signature.score_ladder(node[starts], 0, 1)[:, 0]).tolist()
        bounds = np.c_[begins, ends + 1].ravel()
        priority = np.r_[victims.priorities[candidates], 0]
        started = np.r_[victims.running.started_ms[candidates], 0]
        self._highest = np.maximum.reduceat(priority, bounds)[::2].tolist() if len(ends) else []
        self._oldest = np.minimum.reduceat(started, bounds)[::2].tolist() if len(ends) else []
        rank = np.r_[victims.running.rank[candidates], 0]
        self._last_rank = np.maximum.reduceat(rank, bounds)[::2].tolist() if len(ends) else []
        first_of_node = np.flatnonzero(np.diff(owner[ends], prepend=-1)).tolist()
        self._heap = [self._entry(step) for step in first_of_node]
        heapq.heapify(self._heap)

    def _entry(self, step: int) -> tuple[float, int, int, int, int, int]:
        """Fewest victims a task gained, then the lowest class, the least work lost, the last rank."""
        return (
            self._costs[step] / self._gains[step],
            self._highest[step],
            -self._oldest[step],
            -self._last_rank[step],
            self._scores[self._owner[step]],
            step,
        )

    def cheapest(self) -> tuple[int, int, int] | None:
        """(first candidate, one past the last, tasks gained) of the next step; None: no more."""
        if not self._heap:
            return None
        step = self._heap[0][-1]
        following = step + 1
        if following < len(self._ends) and self._owner[following] == self._owner[step]:
            heapq.heapreplace(self._heap, self._entry(following))
        else:
            heapq.heappop(self._heap)
        return self._begins[step], self._ends[step], self._gains[step]


def victim_orders(work: Work, victims: Victims) -> tuple[VictimOrder, ...]:
    """Both, unless all running tasks are of one size and the orders come to the same."""
    asked = work.signatures[_largest_group(work)].demand.take > 0
    sizes = {other.take[asked].tobytes() for other in victims.demands}
    return (VictimOrder.CHEAPEST,) if len(sizes) == 1 else (VictimOrder.LARGEST, VictimOrder.CHEAPEST)


def _largest_group(work: Work) -> int:
    groups = [group for group, count in enumerate(work.counts) if count]
    return max(groups, key=lambda group: (work.signatures[group].largest_share(), -group))


def _useful(candidates: Int64s, victims: Victims, board: Board, demand: Demand) -> Int64s:
    """How much of what its node lacks for the task a candidate would free: first by the resource it
    helps least with, then over all. More than is lacking counts as enough."""
    kind, node = victims.running.spec[candidates], victims.running.node[candidates]
    least = np.full(len(candidates), 1000, dtype=np.int64)
    total = np.zeros(len(candidates), dtype=np.int64)
    for row in np.flatnonzero(demand.take > 0).tolist():
        lacking = np.maximum(demand.take[row] - board.free[row].take(node), 0)
        freed = np.array([other.take[row] for other in victims.demands], dtype=np.int64)[kind]
        part = np.where(lacking > 0, np.minimum(freed * 1000 // np.maximum(lacking, 1), 1000), 1000)
        np.minimum(least, part, out=least)
        total += part
    return least * 1_000_000 + total


def _ranked(
    candidates: Int64s,
    together: Int64s,
    victims: Victims,
    board: Board,
    demand: Demand,
    order: VictimOrder,
) -> Int64s:
    """By node, and on each node in the order in which they go."""
    running = victims.running
    priority, started = victims.priorities[candidates], -running.started_ms[candidates]
    useful = -_useful(candidates, victims, board, demand)
    asked = demand.take > 0
    sizes = [int((other.take[asked] * 1000 // demand.take[asked]).sum()) for other in victims.demands]
    size = np.array(sizes, dtype=np.int64)[running.spec[candidates]]
    if order is VictimOrder.LARGEST:
        keys = [-running.rank[candidates], started, size, priority, useful]
    else:
        keys = [-running.rank[candidates], useful, size, started, priority]
    keys += [together, running.node[candidates].astype(np.int64)]
    # Sorting is stable and candidates are in the order of job and rank: that breaks the last ties.
    return np.lexsort([key for key in keys if (key != key[0]).any()] or keys[-1:])


def _tasks_lost(victims: Victims, candidates: Int64s, together: Int64s, node: Int64s) -> Int64s:
    """How many tasks go with each candidate that didn't go with an earlier one of the same node."""
    if not (together > 1).any():
        return together
    job = victims.running.job[candidates].astype(np.int64)
    gang = np.where(together > 1, job, -1 - candidates)
    _, first = np.unique(np.stack([node, gang]), axis=1, return_index=True)
    lost = np.zeros_like(together)
    lost[first] = together[first]
    return lost


def _room_after(
    board: Board,
    demand: Demand,
    victims: Victims,
    candidates: Int64s,
    node: Int64s,
    starts: Int64s,
    owner: Int64s,
) -> Int64s:
    """How many tasks fit on the node once this candidate and those before it are gone."""
    room = np.full(len(node), rows.NODE_SHARES, dtype=np.int64)
    kind = victims.running.spec[candidates]
    for row in np.flatnonzero(demand.take > 0).tolist():
        by_kind = np.array([other.take[row] for other in victims.demands], dtype=np.int64)
        freed = np.cumsum(by_kind[kind])
        earlier = np.r_[0, freed][starts][owner]
        free = board.free[row].take(node) + freed - earlier
        np.minimum(room, free // demand.take[row], out=room)
    return np.maximum(room, 0)
