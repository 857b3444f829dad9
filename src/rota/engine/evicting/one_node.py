"""Whom to evict for a single task if all of them must be on the node that it goes to, as in kube-scheduler.

On each node everybody goes who may have to; if the task fits then, they come back one by one as long as it
still does, the most valuable first, and before all others those whose end would break a budget. Of all nodes
the one is taken that loses least: the fewest budgets broken, then the lowest class, the smallest sum of
classes, the fewest tasks, the shortest run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rota.engine.evicting.preempt import preempt
from rota.engine.evicting.sparing import Preempted, tasks_of
from rota.engine.evicting.victims import Unit, Victims
from rota.engine.placing.board import Board
from rota.engine.placing.place import place
from rota.engine.placing.work import Work
from rota.snapshot.arrays import Bools, Int64s

_NODES_TRIED = 256
_CLASS_OFFSET = 1 << 31
"""Makes classes positive: with several of a low class more is lost than with one."""

Broken = Callable[[Sequence[int]], list[bool]]
"""Of running tasks that would go together, the most valuable first: whose end would break a budget."""
Loss = tuple[int, int, int, int, int]
"""What counts first comes first: broken budgets, the highest class, the sum of classes, tasks, and how long
those of the highest class have run."""


def nothing_broken(tasks: Sequence[int]) -> list[bool]:
    return [False] * len(tasks)


def preempt_on_one_node(
    work: Work, board: Board, victims: Victims, eligible: Bools, broken: Broken = nothing_broken
) -> Preempted | None:
    """Makes room and places the task, both on the board; or changes nothing and gives None."""
    eligible = eligible & victims.alive
    if not eligible.any():
        return None
    if is_about_amounts(work):
        return _by_amounts(work, board, victims, eligible, broken)
    return _by_trial(work, board, victims, eligible, broken)


def is_about_amounts(work: Work) -> bool:
    """Whether amounts alone tell if the task fits on a node."""
    return not work.topology and not any(one.needs_turns or one.demand.uses_gpu for one in work.signatures)


# -- by amounts, for all nodes at once


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Tasks that may go one by one, by node, and on each node in the order in which they may stay."""

    tasks: Int64s
    node: Int64s
    broken: Bools


def _by_amounts(
    work: Work, board: Board, victims: Victims, eligible: Bools, broken: Broken
) -> Preempted | None:
    tasks, together = victims.candidates(eligible)
    usable = work.signatures[0].static_mask[victims.running.node[tasks]]
    checkpoint = board.checkpoint()
    candidates = _in_order(tasks[usable & (together == 1)], victims, broken)
    chosen = _cheapest_node(work, board, victims, candidates)
    lower = eligible
    if chosen is not None:
        lower = eligible & (victims.priorities < victims.priorities[chosen[1]].max())
    # Gangs that can only go as a whole may be of a lower class than all of those.
    has_gangs = bool((usable & (together > 1)).any()) and bool(lower.any())
    done = preempt(work, board, victims, lower) if has_gangs else None
    if done is not None or chosen is None:
        return done
    board.rollback(checkpoint)
    node, leaving = chosen
    done = _evicted(work, board, victims, victims.units(leaving, eligible), node)
    return done or preempt(work, board, victims, eligible)


def _in_order(tasks: Int64s, victims: Victims, broken: Broken) -> _Candidates:
    running, priority = victims.running, victims.priorities
    node = running.node[tasks].astype(np.int64)
    by_value = np.lexsort((running.started_ms[tasks], -priority[tasks], node))
    tasks, node = tasks[by_value], node[by_value]
    breaks = np.zeros(len(tasks), dtype=np.bool_)
    if broken is not nothing_broken:
        bounds = np.flatnonzero(np.diff(node, prepend=-1, append=-1)).tolist()
        for first, last in pairwise(bounds):
            breaks[first:last] = broken(tasks[first:last].tolist())
        if breaks.any():
            first_those = np.lexsort((~breaks, node))
            tasks, node, breaks = tasks[first_those], node[first_those], breaks[first_those]
    return _Candidates(tasks, node, breaks)


def _cheapest_node(
    work: Work, board: Board, victims: Victims, candidates: _Candidates
) -> tuple[int, list[int]] | None:
    """The node that loses least, and who goes there."""
    tasks, node = candidates.tasks, candidates.node
    if not len(tasks):
        return None
    signature, running = work.signatures[0], victims.running
    rows = [row for row, _ in signature.demand.asked]
    need = np.array([need for _, need in signature.demand.asked], dtype=np.int64)
    freed = np.array([other.take[rows] for other in victims.demands], dtype=np.int64)[running.spec[tasks]]
    nodes, first, count = np.unique(node, return_index=True, return_counts=True)
    # What is left on each of them beside the task: without anybody, and then with those who may stay.
    left = board.free[rows][:, nodes].T - need
    left += np.add.reduceat(freed, first, axis=0)
    fits = (left >= 0).all(axis=1)
    stays = np.zeros(len(tasks), dtype=np.bool_)
    for number in range(int(count.max())):
        at = np.flatnonzero(fits & (count > number))
        asked = first[at] + number
        beside = left[at] - freed[asked]
        may_stay = (beside >= 0).all(axis=1)
        left[at[may_stay]] = beside[may_stay]
        stays[asked[may_stay]] = True
    gone = np.flatnonzero(~stays & np.repeat(fits, count))
    if not len(gone):
        return None
    at, first, count = np.unique(node[gone], return_index=True, return_counts=True)
    priority = victims.priorities[tasks[gone]].astype(np.int64)
    highest = np.maximum.reduceat(priority, first)
    started = running.started_ms[tasks[gone]]
    of_highest = np.where(priority == np.repeat(highest, count), started, np.iinfo(np.int64).max)
    losses = (
        -signature.score_ladder(at, 0, 1)[:, 0],
        -np.minimum.reduceat(of_highest, first),
        count,
        np.add.reduceat(priority + _CLASS_OFFSET, first),
        highest,
        np.add.reduceat(candidates.broken[gone].astype(np.int64), first),
    )
    best = int(np.lexsort(losses)[0])
    leaving = tasks[gone[first[best] : first[best] + count[best]]]
    return int(at[best]), leaving.tolist()


def _evicted(work: Work, board: Board, victims: Victims, units: list[Unit], node: int) -> Preempted | None:
    checkpoint = board.checkpoint()
    victims.lift(tasks_of(units))
    seats = place(work, board, only(node, board))
    if seats is None:
        board.rollback(checkpoint)
        return None
    return Preempted(seats, units)


# -- by trial, node by node, where rules about others count


def _by_trial(
    work: Work, board: Board, victims: Victims, eligible: Bools, broken: Broken
) -> Preempted | None:
    usable = eligible & work.signatures[0].static_mask[victims.running.node]
    checkpoint = board.checkpoint()
    best: tuple[Loss, int, list[Unit]] | None = None
    for node in np.unique(victims.running.node[usable]).tolist()[:_NODES_TRIED]:
        leaving = _leaving(work, board, victims, eligible, broken, node)
        board.rollback(checkpoint)
        if leaving is None:
            continue
        units, count = leaving
        loss = _loss(units, victims, count)
        if best is None or loss < best[0]:
            best = loss, node, units
    return None if best is None else _evicted(work, board, victims, best[2], best[1])


def _leaving(
    work: Work, board: Board, victims: Victims, eligible: Bools, broken: Broken, node: int
) -> tuple[list[Unit], int] | None:
    """Who has to go on this node, and how many of them break a budget; the board is left as it comes. None:
    that wouldn't be enough, or nobody has to."""
    may_go = eligible & (victims.running.node == node)
    by_value = sorted(victims.units(victims.candidates(may_go)[0].tolist(), may_go), key=Unit.value)
    tasks = tasks_of(by_value)
    breaking = {task for task, breaks in zip(tasks, broken(tasks), strict=True) if breaks}
    units = sorted(by_value, key=lambda unit: breaking.isdisjoint(unit.tasks))
    within = only(node, board)

    def fits() -> bool:
        checkpoint = board.checkpoint()
        seats = place(work, board, within)
        board.rollback(checkpoint)
        return seats is not None

    victims.lift(tasks_of(units))
    if not units or not fits():
        return None
    gone: list[Unit] = []
    doubtful = [units]
    while doubtful:
        asked = doubtful.pop()
        for unit in asked:
            victims.put_back(unit)
        if fits():
            continue
        victims.lift(tasks_of(asked))
        half = len(asked) // 2
        if half:
            doubtful += [asked[half:], asked[:half]]
        else:
            gone += asked
    return (gone, len(breaking.intersection(tasks_of(gone)))) if gone else None


def only(node: int, board: Board) -> Bools:
    within = np.zeros(len(board.nodes), dtype=np.bool_)
    within[node] = True
    return within


def _loss(units: list[Unit], victims: Victims, broken: int) -> Loss:
    tasks = tasks_of(units)
    priorities = victims.priorities[tasks]
    highest = int(priorities.max())
    started = victims.running.started_ms[tasks][priorities == highest]
    return (
        broken,
        highest,
        int((priorities + _CLASS_OFFSET).sum()),
        len(tasks),
        -int(started.min()),
    )
