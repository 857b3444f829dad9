"""The thorough way to place a gang of different tasks, for when the quick ways fail.

Depth first: each task in turn on each node that will do, undone if the rest then finds no place. It
takes so many steps and no more: what was not found by then may still exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rota.engine.board import Board
from rota.engine.work import Apart, Seat, Work, apart_rules

Bools = NDArray[np.bool_]

_STEPS = 400


def search(
    work: Work, board: Board, within: Bools | None, order: Sequence[int]
) -> tuple[list[Seat] | None, bool]:
    """Places at least what is needed, on the board, groups in this order; or nothing. The second
    value says whether nothing was left untried, so that None means that it can't be done."""
    attempt = _Attempt(work, board, within, order, apart_rules(work, board.nodes))
    found = attempt.place(work.needed, [work.counts[group] for group in order], 0, -1)
    return (attempt.seats if found else None), attempt.steps_left > 0


@dataclass(eq=False)
class _Attempt:
    work: Work
    board: Board
    within: Bools | None
    order: Sequence[int]
    apart: list[Apart]
    seats: list[Seat] = field(default_factory=list)
    steps_left: int = _STEPS

    def place(self, needed: int, left: list[int], turn: int, after: int) -> bool:
        """Places `needed` more tasks, of the group whose turn it is or later ones. Tasks of a group
        are equal, so each goes to a node not before that of the one before it."""
        if not needed:
            return True
        if turn == len(left) or sum(left[turn:]) < needed:
            return False
        return self._place_one_of(needed, left, turn, after) or self.place(needed, left, turn + 1, -1)

    def _place_one_of(self, needed: int, left: list[int], turn: int, after: int) -> bool:
        if not left[turn]:
            return False
        group = self.order[turn]
        signature = self.work.signatures[group]
        for position in self._choices(group, after):
            if self.steps_left <= 0:
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
            if self.place(needed - 1, left, turn, position):
                return True
            left[turn] += 1
            self.seats.pop()
            self.board.rollback(checkpoint)
            for rule, free in zip(self.apart, before, strict=True):
                rule.free = free
        return False

    def _choices(self, group: int, after: int) -> list[int]:
        mask = self.within
        for rule in self.apart:
            mask = rule.free if mask is None else mask & rule.free
        signature = self.work.signatures[group]
        feasible = np.flatnonzero(signature.feasible_scores(mask) >= 0)
        # Where the first of its kind opens a domain for the others, their order matters after all.
        ordered = not signature.domain_rules.opens
        choices: list[int] = feasible[feasible >= after].tolist() if ordered else feasible.tolist()
        return choices
