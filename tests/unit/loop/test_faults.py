"""A store that can keep nothing for a while: nobody is told that it did, and all goes on by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rota.control.errors import Unavailable
from rota.lifecycle.state import Phase
from rota.loop.live.runtime import Runtime
from rota.model.policy import Policy
from rota.store.errors import StoreDiverged, StoreUnavailable
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch
from tests.kit.live import no_files, now_ms, spec, submit, until
from tests.kit.waiting import eventually
from tests.obedient import ObedientBackend

pytestmark = pytest.mark.virtual_time


class Moody(Store):
    """Fails when it is told to: before anything is kept, or after."""

    mood: str = ""

    def commit(self, batch: Batch) -> int:
        if self.mood == "full":
            raise StoreUnavailable("the disk is full")
        if self.mood == "doubtful":
            super().commit(batch)
            self.mood = "diverged"
            raise StoreUnavailable("the connection was lost")
        if self.mood == "diverged":
            self.mood = ""
            raise StoreDiverged("a change was kept that was reported as failed")
        return super().commit(batch)


def moody(path: Path) -> Moody:
    store = open_store(f"sqlite:///{path}/rota.db")
    store.__class__ = Moody
    assert isinstance(store, Moody)
    return store


async def started(store: Store, backend: ObedientBackend) -> Runtime:
    runtime = Runtime(store, Policy(), [backend], now_ms, lambda: 0.5, no_files)
    await runtime.start()
    return runtime


async def test_what_cant_be_kept_is_not_accepted_and_reports_come_again(tmp_path: Path) -> None:
    backend, store = ObedientBackend(), moody(tmp_path)
    runtime = await started(store, backend)
    [job] = await submit(runtime.desks, spec())
    await until(runtime.desks, job, Phase.RUNNING)
    store.mood = "full"
    with pytest.raises(Unavailable, match="disk is full"):
        await submit(runtime.desks, spec())
    backend.end_job(job.id)
    await eventually(lambda: runtime.transactor.fault == "the disk is full")
    assert not dict(await runtime.desks.status.health())["store"].healthy
    assert (await runtime.desks.jobs.job(job.id)).phase is Phase.RUNNING  # type: ignore[union-attr]
    store.mood = ""
    await until(runtime.desks, job, Phase.SUCCEEDED)
    [later] = await submit(runtime.desks, spec())
    await until(runtime.desks, later, Phase.RUNNING)
    assert (await runtime.desks.status.stats()).finished == 1
    await runtime.stop()
    store.close()


async def test_what_turns_out_to_be_kept_after_all_is_taken_up(tmp_path: Path) -> None:
    backend, store = ObedientBackend(), moody(tmp_path)
    runtime = await started(store, backend)
    store.mood = "doubtful"
    with pytest.raises(Unavailable):
        await submit(runtime.desks, spec())
    with pytest.raises(Unavailable):
        await submit(runtime.desks, spec())
    await eventually(lambda: len(backend.started) == 1)
    [ref] = backend.started
    assert (await runtime.desks.jobs.job(ref.job)).number == 1  # type: ignore[union-attr]
    backend.end(ref)
    async with asyncio.timeout(20):
        while (await runtime.desks.jobs.job(ref.job)).phase is not Phase.SUCCEEDED:  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
    await runtime.stop()
    store.close()
