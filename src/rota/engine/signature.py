"""A kind of task, compiled for one cycle: what fits, and how good each node is, kept up to date.

Tasks that ask for the same share a signature. Its scores over all nodes are computed once; after
that only the nodes that the board's log names are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rota.engine.board import Board
from rota.engine.plugin import Plugin, Plugins, StateView, TaskView
from rota.engine.score import (
    FULL,
    OPENED_BONUS,
    cheapness,
    free_share,
    price_rank,
    scored_rows,
    utilisation,
)
from rota.engine.topology import (
    SPREAD_WISH_WEIGHT,
    Away,
    DomainRules,
    Even,
    Group,
    Near,
    Topology,
    Wish,
    affinity_group,
)
from rota.model.policy import PluginConfig, SchedulerPolicy, Strategy
from rota.model.task import CostGoal
from rota.model.verdict import Code, Reason
from rota.snapshot import rows

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

N = TypeVar("N", bound=np.generic)

REFUSED = -1
"""Score of a node that the task can't run on. All others are 0 or more."""

Ask = Callable[[str, str, Callable[[], object]], object | None]
"""Calls a plugin under guard; None, and a fault on record, if it fails."""


@dataclass(frozen=True, eq=False)
class ActivePlugin:
    plugin: Plugin
    config: PluginConfig
    is_selection: bool
    """Its score takes the place of utilisation."""


class Signature:
    """Scores are weighted sums of criteria; see `criteria` for each of them by itself."""

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
        self._plugins = plugins
        self._active = active
        self._ask = ask
        self._strategy = scheduler.selection.strategy
        self._scored = scored_rows(task.demand)
        self._row_count = rows.GPU_ROWS if task.demand.uses_gpu else rows.PLAIN_ROWS
        self._need = task.demand.need[: self._row_count, None]
        self._extended = [
            (row, int(task.demand.need[row]))
            for row in range(rows.GPU_ROWS, len(board.nodes.index))
            if task.demand.take[row] > 0
        ]
        self._prefers_opened = not bool(board.nodes.exists.all()) and (
            task.spec.cost_goal is not CostGoal.CHEAPEST
        )
        self.static_mask = self._static_mask()
        self.footprint = topology.footprint(task.template.namespace, task.spec)
        self.domain_rules = self._compile_rules(topology)
        self._fixed = self._fixed_criteria()
        self._base = self._base_scores()
        self._scores = np.empty(len(board.nodes), dtype=np.int64)
        self._seen = -1

    @property
    def needs_turns(self) -> bool:
        """Whether each placement changes the scores of other nodes, so that equal tasks have to be
        placed one by one."""
        return (
            self.domain_rules.any
            or self._strategy is Strategy.ROUND_ROBIN
            or any(one.plugin.filters or one.plugin.scores for one in self._active)
        )

    # -- node-local scores

    def local_scores(self) -> Int64s:
        """Score of each node as the board is now, without the rules over domains. To be read only."""
        length = self._board.log_length
        if self._seen < 0:
            self._scores = self._compute(None)
        elif self._seen < length:
            changed = self._board.changed_since(self._seen)
            if len(changed) > len(self._scores):
                changed = np.unique(changed)
            self._scores[changed] = self._compute(changed)
        self._seen = length
        return self._scores

    def _compute(self, positions: Int64s | None) -> Int64s:
        """Scores of these nodes (None: of all) after one more task of this kind."""
        board, nodes, count = self._board, self._board.nodes, self._row_count
        if positions is None:
            after = board.free[:count] - self._need
            base = self._base
        else:
            after = board.free[:count].take(positions, axis=1)
            after -= self._need
            base = self._base.take(positions)
        fits = after.min(axis=0) >= 0
        fits &= base >= 0
        for row, need in self._extended:
            fits &= _pick(board.free[row], positions) >= need
        score = base
        weights = self._policy.weights
        if weights.load:
            load = free_share(after[rows.SLOTS], _pick(nodes.per_mille[rows.SLOTS], positions))
            load *= weights.load
            score = score + load
        if weights.utilisation and self._strategy not in (Strategy.ROUND_ROBIN, Strategy.CUSTOM):
            shares = [free_share(after[row], _pick(nodes.per_mille[row], positions)) for row in self._scored]
            used = utilisation(self._strategy, shares)
            score = score + used * weights.utilisation
        if self._prefers_opened:
            score = score + np.where(_pick(board.opened, positions), OPENED_BONUS, 0)
        if self._active:
            score, fits = self._with_plugins(positions, score, fits)
        return np.where(fits, score, REFUSED)

    def _with_plugins(self, positions: Int64s | None, score: Int64s, fits: Bools) -> tuple[Int64s, Bools]:
        at = np.arange(len(self._board.nodes)) if positions is None else positions
        for one in self._active:
            passed = self._plugin_mask(one, at)
            if passed is not None:
                fits = fits & passed
            rated = self._plugin_scores(one, at)
            if rated is not None:
                weight = self._policy.weights.utilisation if one.is_selection else one.config.weight
                score = score + weight * rated
        return score, fits

    def _state(self) -> StateView:
        return StateView(self._board.nodes, self._board.free, self._board.gpu_free)

    def _plugin_mask(self, one: ActivePlugin, at: Int64s) -> Bools | None:
        if not one.plugin.filters:
            return None
        state = self._state()

        def call() -> object:
            passed = np.asarray(one.plugin.filter_rows(self.task, state, at))
            if passed.dtype != np.bool_ or passed.shape != at.shape:
                raise ValueError("filter_rows must give one boolean a node")
            return passed

        answer = self._ask(one.config.name, "filter", call)
        return answer if isinstance(answer, np.ndarray) else None

    def _plugin_scores(self, one: ActivePlugin, at: Int64s) -> Int64s | None:
        if not one.plugin.scores or not (one.config.weight or one.is_selection):
            return None
        state = self._state()

        def call() -> object:
            scores = np.asarray(one.plugin.score_rows(self.task, state, at))
            if scores.dtype.kind not in "iu" or scores.shape != at.shape:
                raise ValueError("score_rows must give one whole number a node")
            if len(scores) and (scores.min() < 0 or scores.max() > 1000):
                raise ValueError("scores must lie between 0 and 1000")
            return scores.astype(np.int64)

        answer = self._ask(one.config.name, "score", call)
        return answer if isinstance(answer, np.ndarray) else None

    def largest_share(self) -> float:
        """The task's largest share of everything there is, to compare sizes by."""
        total = self._board.nodes.capacity.sum(axis=1)
        asked = self.demand.take > 0
        return float((self.demand.take[asked] * 1e9 / np.maximum(total[asked], 1)).max(initial=0.0))

    # -- many equal tasks at once

    def capacity(self, positions: Int64s) -> Int64s:
        """How many tasks of this kind fit on each of these nodes, by resources alone."""
        board, demand = self._board, self.demand
        room = np.full(len(positions), rows.NODE_SHARES, dtype=np.int64)
        for row in np.flatnonzero(demand.take > 0).tolist():
            if row not in (rows.GPU_MILLI, rows.GPU_IDLE, rows.GPU_BEST):
                np.minimum(room, board.free[row].take(positions) // demand.take[row], out=room)
        if demand.gpu.is_fraction:
            devices = board.gpu_free.take(positions, axis=0) // demand.gpu.share_milli
            np.minimum(room, devices.sum(axis=1), out=room)
        elif demand.uses_gpu:
            np.minimum(room, board.free[rows.GPU_IDLE].take(positions) // demand.gpu.count, out=room)
        return np.maximum(room, 0)

    def score_ladder(self, positions: Int64s, first: int, depth: int) -> Int64s:
        """[node, step] the score of each node when it gets its `first`-th, next, … such task.
        Steps beyond a node's capacity are meaningless."""
        board, nodes = self._board, self._board.nodes
        weights = self._policy.weights
        steps = np.arange(first + 1, first + depth + 1, dtype=np.int64)[None, :]

        def shares(row: int) -> Int64s:
            after = board.free[row].take(positions)[:, None] - steps * self.demand.take[row]
            return free_share(after, nodes.per_mille[row].take(positions)[:, None])

        score = np.repeat(self._base.take(positions)[:, None], depth, axis=1)
        if weights.load:
            score += weights.load * shares(rows.SLOTS)
        if weights.utilisation:
            score += weights.utilisation * utilisation(self._strategy, [shares(row) for row in self._scored])
        if self._prefers_opened:
            opened = board.opened.take(positions)[:, None] | (steps > 1)
            score += np.where(opened, OPENED_BONUS, 0)
        return score

    # -- what doesn't change within a cycle

    def _static_mask(self) -> Bools:
        nodes = self._board.nodes
        mask = np.ones(len(nodes), dtype=np.bool_)
        for one in self._plugins.filters:
            passes = one.passes(self.task, nodes)
            if passes is not None:
                mask &= passes
        return mask

    def _fixed_criteria(self) -> dict[str, Int64s]:
        """Criteria by node properties, before their weights."""
        nodes = self._board.nodes
        found: dict[str, Int64s] = {}
        for one in self._plugins.scores:
            rated = one.rate(self.task, nodes)
            if rated is not None:
                found[one.criterion] = rated
        if self.domain_rules.wish_weight and "affinity" in found:
            # Wishes about nodes and about other jobs share the criterion by their weights.
            own = sum(preferred.weight for preferred in self.task.spec.preferred_nodes)
            found["affinity"] = found["affinity"] * own // (own + self.domain_rules.wish_weight)
        if self._policy.weights.cost:
            found["cost"] = cheapness(self.demand, nodes)
        return found

    def _base_scores(self) -> Int64s:
        weights = self._policy.weights
        weight = {"affinity": weights.affinity, "proximity": weights.proximity, "cost": weights.cost}
        base = np.zeros(len(self._board.nodes), dtype=np.int64)
        for criterion, rated in self._fixed.items():
            base += weight[criterion] * rated
        rank = price_rank(self.task.spec, self.demand, self._board.nodes)
        if rank is not None:
            base += rank
        return np.where(self.static_mask, base, REFUSED)

    def _compile_rules(self, topology: Topology) -> DomainRules:
        spec, namespace = self.task.spec, self.task.template.namespace
        near, away, wishes = [], [], []
        for term in spec.job_affinity:
            group = affinity_group(term, namespace)
            counter = topology.members(group, term.topology_key)
            if term.weight is not None:
                wishes.append(Wish(term.weight, term.anti, counter))
            elif term.anti:
                away.append(Away(term, counter))
            else:
                near.append(Near(term, counter, group.includes(namespace, spec.labels)))
        away += [Away(None, counter) for counter in topology.owned_against(namespace, spec.labels)]
        even = []
        for spread in spec.spread:
            group = Group(spread.selector, (namespace,))
            counter = topology.members(group, spread.topology_key)
            domains = counter.domain[self._spread_nodes() & counter.has_key]
            even.append(
                Even(
                    spread.max_skew,
                    spread.min_domains,
                    spread.topology_key,
                    spread.required,
                    counter,
                    group.includes(namespace, spec.labels),
                    np.unique(domains).astype(np.int64),
                )
            )
        wish_weight = sum(wish.weight for wish in wishes) + SPREAD_WISH_WEIGHT * sum(
            not rule.required for rule in even
        )
        return DomainRules(tuple(near), tuple(away), tuple(even), tuple(wishes), wish_weight)

    def _spread_nodes(self) -> Bools:
        """Nodes whose domains count for a spread: those that the task's own conditions on nodes
        admit; taints and readiness don't matter, as in Kubernetes."""
        nodes = self._board.nodes
        mask = np.ones(len(nodes), dtype=np.bool_)
        for one in self._plugins.filters:
            if getattr(one, "bounds_spread", False):
                passes = one.passes(self.task, nodes)
                if passes is not None:
                    mask &= passes
        return mask

    # -- what other nodes have a part in

    def turn_scores(self, within: Bools | None) -> Int64s:
        """Scores as the board is now, with everything that one placement changes for many nodes."""
        scores = self.local_scores()
        mask = scores >= 0
        if within is not None:
            mask &= within
        allowed = self.domain_rules.allowed()
        if allowed is not None:
            mask &= allowed
        wishes = self.wish_scores()
        if wishes is not None:
            scores = scores + wishes
        if self._strategy is Strategy.ROUND_ROBIN:
            scores = scores + self._policy.weights.utilisation * self._turns()
        return np.where(mask, scores, REFUSED)

    def _turns(self) -> Int64s:
        """FULL for the node after the one that was served last, and less the later its turn is."""
        count = len(self._board.nodes)
        distance = (np.arange(count, dtype=np.int64) - self._board.cursor - 1) % count
        return FULL - distance * FULL // count

    def wish_scores(self) -> Int64s | None:
        """The weighted part of the affinity criterion that other jobs decide."""
        satisfied = self.domain_rules.wish_score()
        if satisfied is None:
            return None
        own = sum(preferred.weight for preferred in self.task.spec.preferred_nodes)
        total = own + self.domain_rules.wish_weight
        return self._policy.weights.affinity * (satisfied // total) if total else None

    # -- to be shown

    def plugin_refusals(self) -> Iterator[tuple[Reason, Bools]]:
        """What plugins from outside say against nodes, in their own words."""
        state = self._state()
        everywhere = np.arange(len(self._board.nodes))
        for one in self._active:
            passed = self._plugin_mask(one, everywhere)
            if passed is None or passed.all():
                continue
            words: dict[str, Bools] = {}
            for at in np.flatnonzero(~passed).tolist():
                text = self._ask(
                    one.config.name, "filter", partial(one.plugin.filter, self.task, state.node(at))
                )
                mask = words.setdefault(str(text or ""), np.zeros(len(passed), dtype=np.bool_))
                mask[at] = True
            for text, refused in sorted(words.items(), key=lambda item: item[0]):
                yield Reason(Code.PLUGIN, one.config.name, detail=text), refused

    def criteria(self, position: int) -> dict[str, int]:
        """Each criterion of one node by itself, unweighted; for explanations, not for speed."""
        board, nodes = self._board, self._board.nodes
        at = np.array([position])
        after = board.free[:, at] - self.demand.take[:, None]

        def share(row: int) -> Int64s:
            return free_share(after[row], nodes.per_mille[row, at])

        found = {"utilisation": 0, "load": int(share(rows.SLOTS)[0]), "affinity": 0, "proximity": 0}
        if self._strategy not in (Strategy.ROUND_ROBIN, Strategy.CUSTOM):
            shares = [share(row) for row in self._scored]
            found["utilisation"] = int(utilisation(self._strategy, shares)[0])
        elif self._strategy is Strategy.ROUND_ROBIN:
            found["utilisation"] = int(self._turns()[position])
        for criterion, rated in self._fixed.items():
            found[criterion] = int(rated[position])
        satisfied = self.domain_rules.wish_score()
        if satisfied is not None and self.wish_scores() is not None:
            own = sum(preferred.weight for preferred in self.task.spec.preferred_nodes)
            found["affinity"] += int(satisfied[position] // (own + self.domain_rules.wish_weight))
        for one in self._active:
            score = self._plugin_scores(one, at)
            if score is not None:
                name = "utilisation" if one.is_selection else one.config.name
                found[name] = int(score[0])
        return found


def _pick(column: NDArray[N], positions: Int64s | None) -> NDArray[N]:
    return column if positions is None else column.take(positions)
