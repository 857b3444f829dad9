"""A part that ends and never should: the whole says so and stops, instead of hanging without it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from rota.lifecycle.instructions import Instruction
from rota.loop.live.runtime import Runtime
from rota.model.calendar import QueueMode, QueueState
from rota.model.ids import QueueName
from rota.model.policy import Policy
from rota.store.store import open_store
from rota.store.writing.batch import Batch
from tests.kit.live import ADA, no_files, now_ms
from tests.obedient import ObedientBackend

pytestmark = pytest.mark.virtual_time


class Faulty:
    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        raise ZeroDivisionError


async def test_without_a_vital_part_the_whole_has_failed(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/rota.db") as store:
        runtime = Runtime(store, Policy(), [ObedientBackend()], now_ms, lambda: 0.5, no_files)
        await runtime.start()
        assert not runtime.failed.is_set()
        runtime.transactor.follow(Faulty())
        change = QueueState(QueueName("default"), QueueMode.PAUSED, 1)
        unanswered = asyncio.create_task(runtime.desks.queues.set_queue(change, ADA))
        async with asyncio.timeout(20):
            await runtime.failed.wait()
        unanswered.cancel()
        await runtime.stop()
