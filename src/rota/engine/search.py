"""The thorough way to place a gang of different tasks, for when the quick ways fail.

Depth first: each task in turn on each node that will do, undone if the rest then finds no place. It
takes so many steps and no more: what was not found by then may still exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rota.engine.board import Board
from rota.engine.work import Apart, Seat, Work, apart_rules

Bools = NDArray[np.bool_]

_STEPS = 400


def search(work: Work, board: Board, within: Bools | None) -> tuple[list[Seat] | None, bool]:
    """Places at least what is needed, on the board; or nothing. The second value says whether
    nothing was left untried, so that None means that it can't be done."""
    attempt = _Attempt(work, board, within, apart_rules(work, board.nodes))
    found = attempt.place(work.needed, list(work.counts), 0, -1)
    return (attempt.seats if found else None), attempt.steps_left > 0


@dataclass(eq=False)
class _Attempt:
    work: Work
    board: Board
    within: Bools | None
    apart: list[Apart]
    seats: list[Seat] = field(default_factory=list)
    steps_left: int = _STEPS

    def place(self, needed: int, left: list[int], group: int, after: int) -> bool:
        """Places `needed` more tasks, of this group or later ones. Tasks of a group are equal, so
        each goes to a node not before that of the one before it."""
        if not needed:
            return True
        if group == len(left) or sum(left[group:]) < needed:
            return False
        return self._place_one_of(needed, left, group, after) or self.place(needed, left, group + 1, -1)

    def _place_one_of(self, needed: int, left: list[int], group: int, after: int) -> bool:
        if not left[group]:
            return False
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
            left[group] -= 1
            if self.place(needed - 1, left, group, position):
                return True
            left[group] += 1
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
