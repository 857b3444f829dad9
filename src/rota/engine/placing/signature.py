"""A kind of task, compiled for one cycle: which nodes will do, and how good each is.

Tasks that ask for the same share a signature. What never changes in a cycle is computed once
(`unchanging.py`). What changes is a column that all signatures with the same weights share. Nodes found
to be too full are struck from `_live` and come back only when the board says that they got room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from rota.engine.placing.board import Board, Devices
from rota.engine.placing.domain_rules import compile_rules
from rota.engine.placing.opinions import Opinions
from rota.engine.placing.score import (
    FULL,
    OPENED_BONUS,
    REFUSED,
    SCALE,
    judged_shares,
    share_weights,
    utilisation,
)
from rota.engine.placing.topology import Topology
from rota.engine.placing.unchanging import unchanging
from rota.engine.plugin import FULL_SCORE, ActivePlugin, Ask, Plugins, TaskView
from rota.model.policy import SchedulerPolicy, Strategy
from rota.model.task import CostGoal
from rota.model.verdict import Reason
from rota.snapshot import rows
from rota.snapshot.arrays import Bools, Int64s


class Signature:
    def __init__(
        self,
        task: TaskView,
        board: Board,
        topology: Topology,
        scheduler: SchedulerPolicy,
        plugins: Plugins,
        active: Sequence[ActivePlugin],
        ask: Ask,
    ) -> None:
        self.task = task
        self.demand = task.demand
        self._board = board
        self._policy = scheduler
        self._opinions = Opinions(task, board, scheduler, active, ask)
        self._strategy = scheduler.selection.strategy
        self._judged = judged_shares(task.demand)
        weights = share_weights(self._strategy, scheduler.weights, self._judged)
        prefers_opened = board.has_offers and task.spec.cost_goal is not CostGoal.CHEAPEST
        self._column = board.column(weights, OPENED_BONUS if prefers_opened else 0)
        self.footprint = topology.footprint(task.template.namespace, task.spec)
        self.domain_rules = compile_rules(task, topology, board.nodes, plugins.filters)
        self._unchanging = unchanging(task, board, scheduler, plugins, self.domain_rules, weights)
        self.static_mask = self._unchanging.mask
        self._static = self._unchanging.scores
        self._live = self._static.copy()
        self._freed_seen = board.freed.length
        self.needs_turns = (
            self.domain_rules.any
            or self._strategy is Strategy.ROUND_ROBIN
            or self._opinions.on_nodes
            or self._opinions.on_devices
        )
        """Whether each placement changes the scores of other nodes, so that equal tasks have to be
        placed one by one."""
        self._is_sum = not (
            self.domain_rules.opens
            or self._strategy in (Strategy.BALANCED, Strategy.ROUND_ROBIN)
            or self._opinions.on_nodes
        )
        """Whether column and live scores are all there is to it."""

    @cached_property
    def _taken(self) -> Int64s:
        """[shared row, node] what one such task takes; kept only by those who look at it."""
        return self._board.task_shares(self.demand)

    # -- the best node

    def best(self, within: Bools | None = None) -> int:
        """The node with the highest score, the first of equals; -1 where every one is refused.

        Nodes are ranked first and then looked at: the best is seldom too full, and if it is, it is
        struck off. After a second miss all that are too full are struck off at once.
        """
        scores = self._scores(within)
        if not len(scores):
            return -1
        misses = 0
        while True:
            at = int(scores.argmax())
            if scores.item(at) < 0:
                return -1
            if not self._board.fits(at, self.demand):
                misses += 1
                full = np.array((at,)) if misses == 1 else np.flatnonzero(~self._fitting())
                self._live[full] = REFUSED
                scores[full] = REFUSED
                continue
            domain = self.domain_rules.closed_domain(at) if self.domain_rules.away else None
            if domain is None:
                return at
            self._live[domain] = REFUSED
            scores[domain] = REFUSED

    def _scores(self, within: Bools | None) -> Int64s:
        """Scores as the board is now, of nodes that may turn out too full; a buffer to write on."""
        self._take_back_freed()
        scores = np.add(self._column.values, self._live, out=self._board.scratch)
        if self._is_sum and within is None:
            return scores
        if self._strategy is Strategy.BALANCED:
            scores += SCALE * self._policy.weights.utilisation * self._evenness()
        elif self._strategy is Strategy.ROUND_ROBIN:
            scores += SCALE * self._policy.weights.utilisation * self._turns()
        if self.domain_rules.wish_weight:
            scores += SCALE * self._policy.weights.affinity * self._wishes()
        if self._opinions.on_nodes:
            scores += self._opinions.scores()
        allowed = self.domain_rules.allowed()
        if within is not None:
            allowed = within if allowed is None else allowed & within
        if allowed is not None:
            scores[~allowed] = REFUSED
        return scores

    def _take_back_freed(self) -> None:
        freed = self._board.freed
        if self._freed_seen == freed.length:
            return
        if self.domain_rules.any:
            np.copyto(self._live, self._static)
        else:
            positions = freed.since(self._freed_seen)
            self._live[positions] = self._static[positions]
        self._freed_seen = freed.length

    def _fitting(self) -> Bools:
        free = self._board.free
        mask = np.ones(free.shape[1], dtype=np.bool_)
        for row, need in self.demand.asked:
            mask &= free[row] >= need
        return mask

    def feasible_scores(self, within: Bools | None = None) -> Int64s:
        """Scores of all nodes, REFUSED where the task can't go: for ranking many at once."""
        scores = self._scores(within).copy()
        scores[~self._fitting()] = REFUSED
        for rule in self.domain_rules.away:
            scores[~rule.allowed()] = REFUSED
        return scores

    # -- many equal tasks at once

    def capacity(self, positions: Int64s) -> Int64s:
        """How many tasks of this kind fit on each of these nodes, by resources alone."""
        board, demand = self._board, self.demand
        room = np.full(len(positions), rows.NODE_SHARES, dtype=np.int64)
        for row, _ in demand.asked:
            if row not in (rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST):
                np.minimum(room, board.free[row].take(positions) // demand.take[row], out=room)
        if demand.gpu.is_fraction:
            devices = board.gpu_free.take(positions, axis=0) // demand.gpu.share_milli
            np.minimum(room, devices.sum(axis=1), out=room)
        elif demand.uses_gpu:
            np.minimum(room, board.free[rows.GPU_IDLE].take(positions) // demand.gpu.count, out=room)
        return np.maximum(room, 0)

    def score_ladder(self, positions: Int64s, first: int, depth: int) -> Int64s:
        """[node, step] the score of each node when it gets its `first`-th, next, … such task (from
        0). Steps beyond a node's capacity are meaningless."""
        board = self._board
        steps = np.arange(first, first + depth, dtype=np.int64)[None, :]
        score = (self._column.values + self._static).take(positions)[:, None] - (
            steps * self._unchanging.step.take(positions)[:, None]
        )
        if self._strategy is Strategy.BALANCED:
            after = [
                board.shares[at].take(positions)[:, None] - (steps + 1) * self._taken[at, positions][:, None]
                for at in self._judged
            ]
            score += SCALE * self._policy.weights.utilisation * utilisation(self._strategy, after)
        if self._column.opened_bonus:
            opens = ~board.opened.take(positions)[:, None] & (steps > 0)
            score += np.where(opens, OPENED_BONUS, 0)
        return score

    def largest_share(self) -> float:
        """The task's largest share of everything there is, to compare sizes by."""
        total = self._board.nodes.total_capacity
        asked = self.demand.take > 0
        return float((self.demand.take[asked] * 1e9 / np.maximum(total[asked], 1)).max(initial=0.0))

    # -- parts of the score that change

    def _evenness(self) -> Int64s:
        after = [self._board.shares[at] - self._taken[at] for at in self._judged]
        return utilisation(Strategy.BALANCED, after)

    def _turns(self) -> Int64s:
        """FULL for the node after the one that was served last, and less the later its turn is."""
        count = len(self._board.nodes)
        distance = (np.arange(count, dtype=np.int64) - self._board.cursor - 1) % count
        return FULL - distance * FULL // count

    def _wishes(self) -> Int64s:
        """How far wishes about other jobs are fulfilled, as part of the affinity criterion."""
        satisfied = self.domain_rules.wish_score()
        return satisfied * (FULL // FULL_SCORE) // self._unchanging.all_wishes

    # -- plugins from outside

    def chosen_devices(self, position: int) -> Devices | None:
        """The devices that a plugin wants for the task on this node; None: no plugin cares."""
        return self._opinions.chosen_devices(position) if self.demand.uses_gpu else None

    def plugin_refusals(self) -> Iterator[tuple[Reason, Bools]]:
        """What plugins from outside say against nodes, in their own words."""
        return self._opinions.refusals()

    # -- to be shown

    def criteria(self, position: int, *, is_there: bool = False) -> dict[str, int]:
        """Each criterion of one node by itself, 0 to FULL, unweighted. `is_there`: the task is on the board
        already."""
        after = self._board.shares[:, position]
        if not is_there:
            after = after - self._taken[:, position]
        found = {"utilisation": 0, "load": int(after[rows.SHARED.index(rows.SLOTS)])}
        found |= {"affinity": 0, "proximity": 0}
        if self._strategy is Strategy.ROUND_ROBIN:
            found["utilisation"] = int(self._turns()[position])
        elif self._strategy is not Strategy.CUSTOM:
            judged = [after[at : at + 1] for at in self._judged]
            found["utilisation"] = int(utilisation(self._strategy, judged)[0])
        for criterion, rated in self._unchanging.criteria.items():
            found[criterion] = int(rated[position])
        if self.domain_rules.wish_weight:
            found["affinity"] += int(self._wishes()[position])
        return found | self._opinions.criteria(position)

    def weights(self) -> dict[str, int]:
        """The weight of each criterion that `criteria` names."""
        weights = self._policy.weights
        found = {
            "utilisation": weights.utilisation,
            "load": weights.load,
            "affinity": weights.affinity,
            "proximity": weights.proximity,
        }
        if weights.cost:
            found["cost"] = weights.cost
        return found | self._opinions.weights()
