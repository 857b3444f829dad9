"""Many commands at once: each succeeds or fails by itself, whatever becomes of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from rota.backends.backend import TaskEnded, TaskRef, TaskStarted
from rota.control.draft import Draft
from rota.control.errors import Conflict, Unavailable
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.reports import Reports
from rota.control.transactor import Transactor
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import Bound, Held, Seat
from rota.lifecycle.state import EndReason, Phase, TaskEnd
from rota.model.causes import Cause
from rota.model.ids import JobId, NodeName
from rota.model.policy import Policy
from rota.store.errors import ValueRejected
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch
from tests.stored import job, keep

JOBS = [JobId("1"), JobId("2"), JobId("3")]
SUCCESS = TaskEnd(EndReason.EXITED, exit_code=0)


class Counting:
    """A real store whose transactions are counted, and that won't have changes of a job."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.commits = 0
        self.rejected: JobId | None = None

    def commit(self, batch: Batch) -> int:
        if any(state.id == self.rejected and not state.is_over for state in batch.jobs):
            raise ValueRejected("too large")
        self.commits += 1
        return self.store.commit(batch)


@asynccontextmanager
async def controlled(path: Path) -> AsyncIterator[tuple[Transactor, Counting]]:
    """Jobs 1, 2 and 3 wait."""
    with open_store(f"sqlite:///{path}/rota.db") as store:
        keep(store, *map(job, JOBS))
        counting = Counting(store)
        memory = Memory(Policy())
        memory.load(store.load())
        transactor = Transactor(counting, memory, Feed(store, 0), lambda: 1000, lambda: 0.5)  # type: ignore[arg-type]
        running = asyncio.create_task(transactor.run())
        try:
            yield transactor, counting
        finally:
            await transactor.stop()
            await running
            await transactor.close()


def hold(job_id: JobId) -> tuple[JobId, Callable[[Draft], object]]:
    return job_id, lambda draft: draft.change(job_id, Held("ada"))


def bind(job_id: JobId) -> tuple[JobId, Callable[[Draft], object]]:
    return job_id, lambda draft: draft.change(job_id, Bound((Seat(0, NodeName("n1")),)))


async def test_all_are_kept_in_one_transaction(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, store):
        assert await transactor.do_each(map(hold, JOBS)) == [None, None, None]
        assert all(transactor.memory.jobs[one].held for one in JOBS)
        assert store.commits == 1


async def test_one_that_is_refused_does_not_harm_the_others(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, store):
        [first, refused, last] = await transactor.do_each([bind(JOBS[0]), bind(JOBS[0]), bind(JOBS[2])])
        assert (first, last) == (None, None)
        assert isinstance(refused, Refused)
        assert [bool(transactor.memory.jobs[one].live) for one in JOBS] == [True, False, True]
        kinds = [event.row.kind for event in store.store.events(0)]
        assert kinds.count("job.Bound") == 2, "what was tried in vain leaves nothing behind"


async def test_one_that_fails_sets_its_job_aside_and_no_other(tmp_path: Path) -> None:
    def burst(draft: Draft) -> None:
        draft.change(JOBS[1], Held("ada"))
        raise ZeroDivisionError

    async with controlled(tmp_path) as (transactor, _):
        failures = await transactor.do_each([hold(JOBS[0]), (JOBS[1], burst), hold(JOBS[2])])
        assert [type(failure) for failure in failures] == [type(None), ZeroDivisionError, type(None)]
        over = transactor.memory.job(JOBS[1])
        assert over is not None
        assert (over.phase, over.cause, over.held) == (Phase.FAILED, Cause.SET_ASIDE, False)
        assert transactor.memory.jobs.keys() == {JOBS[0], JOBS[2]}


async def test_one_that_the_store_will_not_have_does_not_harm_the_others(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, store):
        store.rejected = JOBS[1]
        [first, rejected, last] = await transactor.do_each(map(hold, JOBS))
        assert (first, last) == (None, None)
        assert isinstance(rejected, Conflict)
        over = transactor.memory.job(JOBS[1])
        assert over is not None
        assert over.cause is Cause.SET_ASIDE


async def test_once_it_has_stopped_all_are_told_so(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, _):
        await transactor.stop()
        failures = await transactor.do_each(map(hold, JOBS))
        assert [type(failure) for failure in failures] == [Unavailable] * 3


async def test_nothing_to_do_is_done_at_once(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, store):
        assert await transactor.do_each([]) == []
        assert store.commits == 0


async def test_reports_of_use_are_kept_together_and_the_others_told(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, store):
        await transactor.do_each(map(bind, JOBS[:2]))
        store.commits = 0
        stale = TaskStarted(TaskRef(JOBS[1], 0, 7), 1000)
        unknown = TaskStarted(TaskRef(JobId("9"), 0, 1), 1000)
        began = TaskStarted(TaskRef(JOBS[0], 0, 1), 1000)
        ended = TaskEnded(TaskRef(JOBS[0], 0, 1), 1000, SUCCESS)
        assert await Reports(transactor).keep([stale, began, unknown, ended]) == [stale, unknown]
        assert store.commits == 1
        over = transactor.memory.job(JOBS[0])
        assert over is not None
        assert over.phase is Phase.SUCCEEDED
