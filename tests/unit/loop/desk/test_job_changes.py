"""Who waits for a job is woken when it changes, and not by others."""

from __future__ import annotations

import asyncio

import pytest

from rota.loop.desk.job_changes import JobChanges
from rota.model.ids import JobId
from rota.store.writing.batch import Batch
from tests.stored import job

ONE, TWO = JobId("1"), JobId("2")
LONG_S = 3600.0


def changed(*ids: JobId) -> Batch:
    return Batch(jobs=[job(one) for one in ids])


@pytest.mark.covers("first-1")
class TestJobChanges:
    async def test_all_who_wait_for_the_job_are_woken(self) -> None:
        changes = JobChanges()
        waits = [asyncio.ensure_future(changes.next_of(ONE, LONG_S)) for _ in range(2)]
        await asyncio.sleep(0)
        changes.kept(changed(ONE), ())
        await asyncio.gather(*waits)

    async def test_others_are_not(self) -> None:
        changes = JobChanges()
        waits = asyncio.ensure_future(changes.next_of(ONE, LONG_S))
        await asyncio.sleep(0)
        changes.kept(changed(TWO), ())
        await asyncio.sleep(0)
        assert not waits.done()
        changes.kept(changed(TWO, ONE), ())
        await waits

    async def test_nobody_waits_for_ever(self) -> None:
        changes = JobChanges()
        await changes.next_of(ONE, 0)
        changes.kept(changed(ONE), ())

    async def test_who_went_away_is_forgotten(self) -> None:
        changes = JobChanges()
        waits = asyncio.ensure_future(changes.next_of(ONE, LONG_S))
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        changes.kept(changed(ONE), ())
