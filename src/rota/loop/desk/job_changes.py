"""Wakes those who wait for something to happen to a job."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from rota.lifecycle.instructions import Instruction
from rota.model.ids import JobId
from rota.store.writing.batch import Batch


class JobChanges:
    """Follows the transactor."""

    def __init__(self) -> None:
        self._waiting: dict[JobId, set[asyncio.Future[None]]] = {}

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        if not self._waiting:
            return
        for state in batch.jobs:
            for waits in self._waiting.pop(state.id, ()):
                if not waits.done():
                    waits.set_result(None)

    async def next_of(self, job_id: JobId, within_s: float) -> None:
        """Until the job has changed, or so much time has passed."""
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(job_id, set()).add(waits)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await waits
        finally:
            others = self._waiting.get(job_id, set())
            others.discard(waits)
            if not others:
                self._waiting.pop(job_id, None)
