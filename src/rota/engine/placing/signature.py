"""A kind of task, compiled for one cycle: which nodes will do, and how good each is.

Tasks that ask for the same share a signature. What never changes in a cycle is computed once
(`_static`). What changes is a column that all signatures with the same weights share. Nodes found
to be too full are struck from `_live` and come back only when the board says that they got room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from rota.engine.placing.board import Board, Devices
from rota.engine.placing.score import (
    FULL,
    LEVEL,
    OPENED_BONUS,
    REFUSED,
    SCALE,
    cheapness,
    judged_shares,
    price_rank,
    share_weights,
    utilisation,
)
from rota.engine.placing.selected import Group, affinity_group
from rota.engine.placing.topology import (
    SPREAD_WISH_WEIGHT,
    Away,
    DomainRules,
    Even,
    Near,
    Topology,
    Wish,
)
from rota.engine.plugin import (
    FULL_SCORE,
    ActivePlugin,
    Ask,
    Concern,
    Plugin,
    Plugins,
    StateView,
    TaskView,
)
from rota.model.policy import SchedulerPolicy, Strategy
from rota.model.reasons import RefusedByPlugin
from rota.model.resources import GpuRequest
from rota.model.task import CostGoal, Spread
from rota.model.verdict import Reason
from rota.snapshot import rows
from rota.snapshot.nodes import NODE_KEY

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]


_Unchanging = tuple[Int64s, Bools, dict[str, Int64s], Int64s]


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
        self._plugins = plugins
        self._ask = ask
        self._active = [one for one in active if one.plugin.filters or one.plugin.scores]
        self._device_choosers = [one for one in active if one.plugin.chooses_devices]
        self._strategy = scheduler.selection.strategy
        self._judged = judged_shares(task.demand)
        weights = share_weights(self._strategy, scheduler.weights, self._judged)
        prefers_opened = board.has_offers and task.spec.cost_goal is not CostGoal.CHEAPEST
        self._column = board.column(weights, OPENED_BONUS if prefers_opened else 0)
        self.footprint = topology.footprint(task.template.namespace, task.spec)
        self.domain_rules = self._compile_rules(topology)
        self._all_wishes = self.domain_rules.wish_weight
        """Weight of all wishes, about nodes and about other jobs: they share the criterion."""
        self._step, self.static_mask, self._fixed, self._static = self._unchanging(weights)
        self._live = self._static.copy()
        self._freed_seen = board.freed.length
        self._plugin_scores_now: Int64s | None = None
        self._changed_seen = 0
        self.needs_turns = (
            self.domain_rules.any
            or self._strategy is Strategy.ROUND_ROBIN
            or bool(self._active or self._device_choosers)
        )
        """Whether each placement changes the scores of other nodes, so that equal tasks have to be
        placed one by one."""
        self._is_sum = not (
            self.domain_rules.opens
            or self._strategy in (Strategy.BALANCED, Strategy.ROUND_ROBIN)
            or self._active
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
        if self._active:
            scores += self._plugin_part()
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
            steps * self._step.take(positions)[:, None]
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
        return satisfied * (FULL // FULL_SCORE) // self._all_wishes

    # -- plugins from outside

    def _plugin_part(self) -> Int64s:
        """What plugins add to the score (REFUSED where one refuses), asked anew for changed nodes."""
        changed = self._board.changed
        if self._plugin_scores_now is None:
            self._plugin_scores_now = self._ask_plugins(np.arange(len(self._board.nodes)))
        elif self._changed_seen < changed.length:
            positions = np.unique(changed.since(self._changed_seen))
            self._plugin_scores_now[positions] = self._ask_plugins(positions)
        self._changed_seen = changed.length
        return self._plugin_scores_now

    def _ask_plugins(self, at: Int64s) -> Int64s:
        score = np.zeros(len(at), dtype=np.int64)
        refused = np.zeros(len(at), dtype=np.bool_)
        for one in self._active:
            passed = self._plugin_mask(one, at)
            if passed is not None:
                refused |= ~passed
            rated = self._plugin_rating(one, at)
            if rated is not None:
                weight = self._policy.weights.utilisation if one.is_selection else one.config.weight
                score += SCALE * weight * rated * (FULL // FULL_SCORE)
        return np.where(refused, REFUSED, score)

    def _state(self) -> StateView:
        return StateView(self._board.nodes, *self._board.read_only())

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

    def _plugin_rating(self, one: ActivePlugin, at: Int64s) -> Int64s | None:
        if not one.plugin.scores or not (one.config.weight or one.is_selection):
            return None
        state = self._state()

        def call() -> object:
            scores = np.asarray(one.plugin.score_rows(self.task, state, at))
            if scores.dtype.kind not in "iu" or scores.shape != at.shape:
                raise ValueError("score_rows must give one whole number a node")
            if len(scores) and (scores.min() < 0 or scores.max() > FULL_SCORE):
                raise ValueError(f"scores must lie between 0 and {FULL_SCORE}")
            return scores.astype(np.int64)

        answer = self._ask(one.config.name, "score", call)
        return answer if isinstance(answer, np.ndarray) else None

    def chosen_devices(self, position: int) -> Devices | None:
        """The devices that a plugin wants for the task on this node; None: no plugin cares."""
        if not (self._device_choosers and self.demand.uses_gpu):
            return None
        state = self._state()
        free = state.node(position).free_devices()
        for one in self._device_choosers:

            def call(plugin: Plugin = one.plugin) -> object:
                chosen = plugin.choose_devices(self.task, state, position)
                if chosen is not None:
                    _check_devices(chosen, free, self.demand.gpu)
                return chosen

            answer = self._ask(one.config.name, "choose_devices", call)
            if isinstance(answer, tuple):
                return answer
        return None

    def plugin_refusals(self) -> Iterator[tuple[Reason, Bools]]:
        """What plugins from outside say against nodes, in their own words."""
        if not self._active:
            return
        state = self._state()
        everywhere = np.arange(len(self._board.nodes))
        for one in self._active:
            passed = self._plugin_mask(one, everywhere)
            if passed is None or passed.all():
                continue
            words: dict[str, Bools] = {}
            for at in np.flatnonzero(~passed).tolist():
                call = partial(one.plugin.filter, self.task, state.node(at))
                text = self._ask(one.config.name, "filter", call)
                mask = words.setdefault(str(text or ""), np.zeros(len(passed), dtype=np.bool_))
                mask[at] = True
            for text, refused in sorted(words.items(), key=lambda item: item[0]):
                yield RefusedByPlugin(one.config.name, text), refused

    # -- what doesn't change within a cycle

    def _unchanging(self, weights: tuple[int, ...]) -> _Unchanging:
        """What follows from the nodes, the task and the policy alone is kept from cycle to cycle."""
        if self.domain_rules.any or self._board.nodes.has_passing_time:
            return self._derived(weights)
        nodes, scheduler = self._board.nodes, self._policy
        key = (self.task.spec, self._strategy, scheduler.weights, weights, tuple(self._plugins.filters))
        kept: _Unchanging | None = nodes.derived.get(key)
        return nodes.keep(key, self._derived(weights)) if kept is None else kept

    def _derived(self, weights: tuple[int, ...]) -> _Unchanging:
        taken = self._board.task_shares(self.demand)
        # What one more such task takes from the node's score.
        self._step = np.tensordot(np.array(weights, dtype=np.int64), taken, axes=1)
        self.static_mask = self._static_mask()
        self._fixed = self._fixed_criteria()
        return self._step, self.static_mask, self._fixed, self._static_scores()

    def _static_mask(self) -> Bools:
        nodes = self._board.nodes
        mask = np.ones(len(nodes), dtype=np.bool_)
        for one in self._plugins.filters:
            passes = one.passes(self.task, nodes)
            if passes is not None:
                mask &= passes
        return mask

    def _fixed_criteria(self) -> dict[str, Int64s]:
        """Criteria by node properties, 0 to FULL, before their weights."""
        nodes = self._board.nodes
        found: dict[str, Int64s] = {}
        for one in self._plugins.scores:
            rating = one.rate(self.task, nodes)
            if rating is None:
                continue
            found[one.criterion] = rating.values * (FULL // FULL_SCORE)
            if one.criterion == "affinity" and self.domain_rules.wish_weight:
                self._all_wishes += rating.weight
                found["affinity"] = found["affinity"] * rating.weight // self._all_wishes
        if self._policy.weights.cost:
            found["cost"] = cheapness(self.demand, nodes)
        return found

    def _static_scores(self) -> Int64s:
        weights = self._policy.weights
        weight = {"affinity": weights.affinity, "proximity": weights.proximity, "cost": weights.cost}
        base = LEVEL - self._step
        if self._strategy is Strategy.BIN_PACKING:
            base += SCALE * weights.utilisation * FULL
        for criterion, rated in self._fixed.items():
            base += SCALE * weight[criterion] * rated
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
            eligible = self._spread_nodes(spread)
            domains = counter.domain[eligible & counter.has_key]
            even.append(
                Even(
                    spread.max_skew,
                    spread.min_domains,
                    spread.topology_key,
                    spread.required,
                    counter,
                    group.includes(namespace, spec.labels),
                    np.unique(domains).astype(np.int64),
                    None if eligible.all() else eligible,
                    topology.members(group, NODE_KEY),
                )
            )
        soft = sum(not rule.required for rule in even)
        wish_weight = sum(wish.weight for wish in wishes) + SPREAD_WISH_WEIGHT * soft
        return DomainRules(tuple(near), tuple(away), tuple(even), tuple(wishes), wish_weight)

    def _spread_nodes(self, spread: Spread) -> Bools:
        """Nodes that count for a spread, by the filters that it honours."""
        nodes = self._board.nodes
        mask = np.ones(len(nodes), dtype=np.bool_)
        for one in self._plugins.filters:
            if one.concern in _honoured(spread):
                passes = one.passes(self.task, nodes)
                if passes is not None:
                    mask &= passes
        return mask

    # -- to be shown

    def criteria(self, position: int) -> dict[str, int]:
        """Each criterion of one node by itself, 0 to FULL, unweighted."""
        after = self._board.shares[:, position] - self._taken[:, position]
        found = {"utilisation": 0, "load": int(after[rows.SHARED.index(rows.SLOTS)])}
        found |= {"affinity": 0, "proximity": 0}
        if self._strategy is Strategy.ROUND_ROBIN:
            found["utilisation"] = int(self._turns()[position])
        elif self._strategy is not Strategy.CUSTOM:
            judged = [after[at : at + 1] for at in self._judged]
            found["utilisation"] = int(utilisation(self._strategy, judged)[0])
        for criterion, rated in self._fixed.items():
            found[criterion] = int(rated[position])
        if self.domain_rules.wish_weight:
            found["affinity"] += int(self._wishes()[position])
        for one in self._active:
            rating = self._plugin_rating(one, np.array([position]))
            if rating is not None:
                name = "utilisation" if one.is_selection else one.config.name
                found[name] = int(rating[0]) * (FULL // FULL_SCORE)
        return found

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
        for one in self._active:
            if one.plugin.scores and one.config.weight and not one.is_selection:
                found[one.config.name] = one.config.weight
        return found


def _check_devices(chosen: Devices, free: Sequence[int], request: GpuRequest) -> None:
    if not (isinstance(chosen, tuple) and all(type(device) is int for device in chosen)):
        raise ValueError("choose_devices must give a tuple of device numbers, or None")
    if len(chosen) != request.count or len(set(chosen)) != len(chosen):
        raise ValueError(f"choose_devices must give {request.count} different devices")
    for device in chosen:
        if not (0 <= device < len(free) and free[device] >= request.share_milli):
            raise ValueError(f"device {device} has no room for the task")


def _honoured(spread: Spread) -> set[Concern]:
    concerns = {Concern.AFFINITY} if spread.honor_affinity else set()
    return concerns | {Concern.TAINTS} if spread.honor_taints else concerns
