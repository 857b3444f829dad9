"""A controller that may be killed at any moment: it submits actions, cancels some, and keeps what it is told.

`python -m tests.crash.controller TARGET NAME TOKEN FOLDER GROUND SEED`
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from rota.stateless_scheduler.client import Action, Placement, SchedulerClient
from tests.crash.jobs import draw_action, resident
from tests.crash.ledger import DiskLedger

_RESIDENTS = 2
_MOST_UNFINISHED = 30
_LONGEST_PAUSE_S = 0.4
_CANCELLED = 0.15
"""So many, beside those that would never end."""
_REMEMBERED = 20
_SLOW_EVERY = 5
_SLOW_S = 0.5
"""Longer than a task takes to start."""


class SlowLedger(DiskLedger):
    """On a disk that takes its time now and then: nothing may start meanwhile."""

    _times = 0

    async def placed(self, placements: Sequence[Placement]) -> None:
        self._times += 1
        if self._times % _SLOW_EVERY == 0:
            await asyncio.sleep(_SLOW_S)
        await super().placed(placements)


class Submitting:
    def __init__(self, client: SchedulerClient, ledger: DiskLedger, ground: Path, seed: str) -> None:
        self._client = client
        self._ledger = ledger
        self._ground = ground
        self._seed = seed

    async def run(self, enough: Path) -> None:
        while True:
            # What it does next depends on what it has done, not on how often it was killed.
            chance = Random(f"{self._seed} {self._ledger.count()}")
            if enough.exists():
                self._cancel_endless()
            elif self._ledger.count_unfinished() < _MOST_UNFINISHED:
                self._submit(chance)
                self._cancel_some(chance)
            # Whoever cancels without a connection has to do it again.
            self._client.cancel(self._ledger.cancelled())
            await asyncio.sleep(_LONGEST_PAUSE_S * chance.random())

    def _submit(self, chance: Random) -> None:
        number = self._ledger.count()
        form = resident() if number < _RESIDENTS else draw_action(chance)
        now_ms = time.time_ns() // 1_000_000
        action = Action(f"action-{number}", form.action(self._ground), submitted_ms=now_ms)
        self._ledger.add(action, form)
        self._client.submit([action])

    def _cancel_some(self, chance: Random) -> None:
        id, form = chance.choice(self._ledger.latest(_REMEMBERED))
        if not form.is_resident and (form.is_endless or chance.random() < _CANCELLED):
            self._ledger.cancel([id])

    def _cancel_endless(self) -> None:
        everything = self._ledger.latest(self._ledger.count())
        self._ledger.cancel(id for id, form in everything if form.is_endless)


async def main(target: str, name: str, token: str, folder: str, ground: str, seed: str) -> None:
    ledger = SlowLedger(Path(folder) / "ledger.db")
    client = SchedulerClient(target, name, token, ledger)
    submitting = Submitting(client, ledger, Path(ground), f"{seed} {name}")
    async with asyncio.TaskGroup() as group:
        group.create_task(client.run())
        group.create_task(submitting.run(Path(folder) / "enough"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
