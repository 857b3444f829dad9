"""What doesn't change about the nodes for a kind of task while a plan is made: it is computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rota.engine.placing.board import Board
from rota.engine.placing.score import FULL, LEVEL, REFUSED, SCALE, cheapness, price_rank
from rota.engine.placing.topology import DomainRules
from rota.engine.plugin import FULL_SCORE, Plugins, TaskView
from rota.model.policy import SchedulerPolicy, Strategy
from rota.snapshot.arrays import Bools, Int64s


@dataclass(frozen=True, eq=False)
class Unchanging:
    step: Int64s
    """[node] what one more such task takes from the node's score"""
    mask: Bools
    """[node] whether it will do, by what it is"""
    criteria: dict[str, Int64s]
    """By name, [node] 0 to FULL, before their weights"""
    scores: Int64s
    """[node] the part of the score that doesn't change; REFUSED where the node won't do"""
    all_wishes: int
    """The weight of all wishes, about nodes and about other jobs: they share the criterion."""


def unchanging(
    task: TaskView,
    board: Board,
    scheduler: SchedulerPolicy,
    plugins: Plugins,
    rules: DomainRules,
    weights: tuple[int, ...],
) -> Unchanging:
    """What follows from the nodes, the task and the policy alone is kept from cycle to cycle."""
    if rules.any or board.nodes.has_passing_time:
        return _derived(task, board, scheduler, plugins, rules, weights)
    nodes, strategy = board.nodes, scheduler.selection.strategy
    key = (task.spec, strategy, scheduler.weights, weights, tuple(plugins.filters))
    kept: Unchanging | None = nodes.derived.get(key)
    if kept is None:
        kept = nodes.keep(key, _derived(task, board, scheduler, plugins, rules, weights))
    return kept


def _derived(
    task: TaskView,
    board: Board,
    scheduler: SchedulerPolicy,
    plugins: Plugins,
    rules: DomainRules,
    weights: tuple[int, ...],
) -> Unchanging:
    step = np.tensordot(np.array(weights, dtype=np.int64), board.task_shares(task.demand), axes=1)
    mask = _mask(task, board, plugins)
    criteria, all_wishes = _criteria(task, board, scheduler, plugins, rules)
    scores = np.where(mask, _scores(task, board, scheduler, step, criteria), REFUSED)
    return Unchanging(step, mask, criteria, scores, all_wishes)


def _mask(task: TaskView, board: Board, plugins: Plugins) -> Bools:
    mask = np.ones(len(board.nodes), dtype=np.bool_)
    for one in plugins.filters:
        passes = one.passes(task, board.nodes)
        if passes is not None:
            mask &= passes
    return mask


def _criteria(
    task: TaskView, board: Board, scheduler: SchedulerPolicy, plugins: Plugins, rules: DomainRules
) -> tuple[dict[str, Int64s], int]:
    """Criteria by node properties; and the weight of all wishes."""
    found: dict[str, Int64s] = {}
    all_wishes = rules.wish_weight
    for one in plugins.scores:
        rating = one.rate(task, board.nodes)
        if rating is None:
            continue
        found[one.criterion] = rating.values * (FULL // FULL_SCORE)
        if one.criterion == "affinity" and rules.wish_weight:
            all_wishes += rating.weight
            found["affinity"] = found["affinity"] * rating.weight // all_wishes
    if scheduler.weights.cost:
        found["cost"] = cheapness(task.demand, board.nodes)
    return found, all_wishes


def _scores(
    task: TaskView, board: Board, scheduler: SchedulerPolicy, step: Int64s, criteria: dict[str, Int64s]
) -> Int64s:
    weights = scheduler.weights
    weight = {"affinity": weights.affinity, "proximity": weights.proximity, "cost": weights.cost}
    scores = LEVEL - step
    if scheduler.selection.strategy is Strategy.BIN_PACKING:
        scores += SCALE * weights.utilisation * FULL
    for criterion, rated in criteria.items():
        scores += SCALE * weight[criterion] * rated
    rank = price_rank(task.spec, task.demand, board.nodes)
    if rank is not None:
        scores += rank
    return scores
