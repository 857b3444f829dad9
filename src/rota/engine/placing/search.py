"""The thorough way to place a gang of different tasks, for when the quick ways fail.

Depth first: each task in turn on each node that will do, undone if the rest then finds no place. It
takes so many steps and no more: what was not found by then may still exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rota.engine.placing.board import Board
from rota.engine.placing.work import Apart, Seat, Work, apart_rules
from rota.snapshot.arrays import Bools

_STEPS = 400
_LOOKS = 4 * _STEPS
"""How often the nodes of a group are looked at: with many groups, each step could be followed by as many."""


def search(
    work: Work, board: Board, within: Bools | None, order: Sequence[int]
) -> tuple[list[Seat] | None, bool]:
    """Places what is needed, on the board, or nothing; the groups in this order, or, where that may
    matter, in any, this first. The second value says whether nothing was left untried, so that None
    means that it can't be done."""
    attempt = _Attempt(work, board, within, order, apart_rules(work, board.nodes))
    found = attempt.place(work.needed, [work.counts[group] for group in order], 0)
    return (attempt.seats if found else None), not attempt.is_spent


@dataclass(eq=False)
class _Attempt:
    work: Work
    board: Board
    within: Bools | None
    order: Sequence[int]
    apart: list[Apart]
    seats: list[Seat] = field(default_factory=list)
    tried: set[tuple[tuple[int, int], ...]] = field(default_factory=set)
    """Groups and nodes of tasks that were on the board together before, and led nowhere."""
    steps_left: int = _STEPS
    looks_left: int = _LOOKS

    def __post_init__(self) -> None:
        self._order_matters = any(signature.domain_rules.opens for signature in self.work.signatures)
        """Whether one task can open a domain for another: then any group may be next."""

    @property
    def is_spent(self) -> bool:
        return self.steps_left <= 0 or self.looks_left <= 0

    def place(self, needed: int, left: list[int], turn: int) -> bool:
        """Places `needed` more tasks, of the group whose turn it is or later ones; of any group where
        their order matters."""
        if not needed:
            return True
        first = 0 if self._order_matters else turn
        spare = sum(left[first:]) - needed
        for at in range(first, len(left)):
            if self.is_spent or spare < 0:
                return False
            if left[at] and self._place_one_of(needed, left, at):
                return True
            if not self._order_matters:
                # Those who had their turn come no more.
                spare -= left[at]
        return False

    def _place_one_of(self, needed: int, left: list[int], turn: int) -> bool:
        group = self.order[turn]
        signature = self.work.signatures[group]
        for position in self._choices(group):
            state = self._with(group, position)
            if state in self.tried:
                continue
            self.tried.add(state)
            if self.is_spent:
                return False
            self.steps_left -= 1
            checkpoint = self.board.checkpoint()
            before = [rule.free for rule in self.apart]
            chosen = signature.chosen_devices(position)
            devices = self.board.put(position, signature.demand, signature.footprint, chosen)
            for rule in self.apart:
                rule.use(position)
            self.seats.append(Seat(group, position, devices))
            left[turn] -= 1
            if self.place(needed - 1, left, turn):
                return True
            left[turn] += 1
            self.seats.pop()
            self.board.rollback(checkpoint)
            for rule, free in zip(self.apart, before, strict=True):
                rule.free = free
        return False

    def _with(self, group: int, position: int) -> tuple[tuple[int, int], ...]:
        return tuple(sorted([*((seat.group, seat.position) for seat in self.seats), (group, position)]))

    def _choices(self, group: int) -> list[int]:
        self.looks_left -= 1
        mask = self.within
        for rule in self.apart:
            mask = rule.free if mask is None else mask & rule.free
        choices: list[int] = np.flatnonzero(self.work.signatures[group].feasible_scores(mask) >= 0).tolist()
        return choices
