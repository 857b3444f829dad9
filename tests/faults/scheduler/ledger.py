"""What a controller keeps: its actions as they stand. It survives its controller; what a method has recorded
counts as synced before it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rota.stateless_scheduler.client import Action, Ended, FilePart, Output, Placement, Refused

if TYPE_CHECKING:
    from tests.faults.scheduler.witness import ActionWitness

_SLOW = 0.2
"""How often recording placements takes a while, with nothing wrong."""
_SLOW_S = 0.5
"""Longer than a task takes to start."""


class Row(Struct):
    action: Action
    is_cancelled: bool = False
    is_over: bool = False


class ActionLedger:
    """Implements rota.stateless_scheduler.client.Ledger."""

    def __init__(self, controller: str, chance: Random, witness: ActionWitness) -> None:
        self.longest_s = 0.0
        """That recording placements takes; 0: as usual."""
        self._controller = controller
        self._chance = chance
        self._witness = witness
        self._rows: dict[str, Row] = {}

    # -- what its controller has decided

    def add(self, action: Action) -> None:
        self._rows[action.id] = Row(action)

    def cancel(self, actions: Iterable[str]) -> None:
        for action in actions:
            if action in self._rows:
                self._rows[action].is_cancelled = True
                self._witness.cancelled(self._controller, action)

    def cancelled(self) -> list[str]:
        """That aren't over yet."""
        return [id for id, row in self._rows.items() if row.is_cancelled and not row.is_over]

    def unfinished(self) -> Iterator[Action]:
        for row in self._rows.values():
            if not row.is_over:
                yield row.action

    # -- what it is told

    async def placed(self, placements: Sequence[Placement]) -> None:
        await self._take_a_while()
        for one in placements:
            row = self._rows[one.action]
            row.action = replace(row.action, placement=one, output_bytes=0, last_fence=one.fence)
            self._witness.placed(self._controller, one)

    async def waiting(self, actions: Sequence[str], reason: str) -> None:
        for id in actions:
            row = self._rows[id]
            row.action = replace(row.action, placement=None, output_bytes=0)
            self._witness.waits(self._controller, id, reason)

    async def running(self, action: str, fence: int, at_ms: int) -> None:
        self._witness.runs(self._controller, action, fence)

    async def output(self, output: Output) -> None:
        row = self._rows[output.action]
        place = row.action.placement
        data = b"".join(piece.data for piece in output.pieces)
        if place is not None and place.fence == output.fence:
            row.action = replace(row.action, output_bytes=output.offset_bytes + len(data))
        self._witness.wrote(self._controller, output.action, output.fence, output.offset_bytes, data)

    async def file(self, part: FilePart) -> None:
        self._witness.broken("I1", f"{self._controller} is brought a file, and no action leaves any: {part}")

    async def ended(self, ended: Ended) -> None:
        self._rows[ended.action].is_over = True
        self._witness.over(self._controller, ended)

    async def refused(self, refused: Refused) -> None:
        self._witness.refused(self._controller, refused)

    async def _take_a_while(self) -> None:
        longest_s = self.longest_s or _SLOW_S * (self._chance.random() < _SLOW)
        if longest_s:
            await asyncio.sleep(longest_s * self._chance.random())
