"""A store that fails: nothing happened, everybody is told so, and all goes on once it is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rota.control import transactor as module
from rota.control.draft import Draft
from rota.control.errors import Conflict, Unavailable
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.transactor import Transactor
from rota.model.ids import JobId
from rota.model.policy import Policy
from rota.store.errors import StoreDiverged, StoreError, StoreUnavailable, ValueRejected
from rota.store.reading.load import Loaded
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch
from tests.kit.waiting import eventually
from tests.stored import job, keep

GONE = StoreUnavailable("the disk is full")


class Failing:
    """A real store in front of which failures are put."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.numbers = self
        self.failure: StoreError | None = None
        self.load_failure: StoreError | None = None

    def commit(self, batch: Batch) -> int:
        self._fail()
        return self.store.commit(batch)

    def job(self, job_id: JobId) -> object:
        self._fail()
        return self.store.job(job_id)

    def allocate(self, count: int) -> int:
        self._fail()
        return self.store.numbers.allocate(count)

    def load(self) -> Loaded:
        if self.load_failure is not None:
            raise self.load_failure
        return self.store.load()

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


@asynccontextmanager
async def controlled(path: Path) -> AsyncIterator[tuple[Transactor, Failing]]:
    with open_store(f"sqlite:///{path}/rota.db") as store:
        failing = Failing(store)
        loaded = store.load()
        memory = Memory(Policy())
        memory.load(loaded)
        feed = Feed(store, loaded.last_seq)
        transactor = Transactor(failing, memory, feed, lambda: 1000, lambda: 0.5)  # type: ignore[arg-type]
        running = asyncio.create_task(transactor.run())
        try:
            yield transactor, failing
        finally:
            await transactor.stop()
            await running
            await transactor.close()


def note(name: str) -> Callable[[Draft], str]:
    def command(draft: Draft) -> str:
        draft.note("test.Noted", name, "ada", {})
        return name

    return command


def kinds(store: Store) -> list[str]:
    return [event.row.kind for event in store.events(0)]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECK_S", 0.01)
    monkeypatch.setattr(module, "RETRY_S", 0.01)


async def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, failing):
        failing.failure = GONE
        with pytest.raises(Unavailable, match="the disk is full"):
            await transactor.do(note("lost"))
        assert transactor.fault == "the disk is full"
        with pytest.raises(Unavailable):
            await transactor.numbers(1)
        assert kinds(failing.store) == []


async def test_it_notices_by_itself_that_the_store_is_gone_and_that_it_is_back(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, failing):
        failing.failure = GONE
        await eventually(lambda: transactor.fault == "the disk is full")
        failing.failure = None
        await eventually(lambda: not transactor.fault)
        [event] = failing.store.events(0)
        assert (event.row.kind, event.row.data) == ("store.Recovered", b'{"fault":"the disk is full"}')


async def test_the_first_that_is_kept_says_that_the_store_is_back(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, failing):
        failing.failure = GONE
        with pytest.raises(Unavailable):
            await transactor.do(note("lost"))
        failing.failure = None
        assert await transactor.do(note("kept")) == "kept"
        assert kinds(failing.store).count("store.Recovered") == 1
        assert kinds(failing.store).count("test.Noted") == 1
        assert transactor.feed.last_seq == 2


async def test_memory_that_is_behind_is_read_anew_as_soon_as_that_works(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, failing):
        keep(failing.store, job("7"))  # Kept, though it was reported as lost.
        failing.failure = StoreDiverged("a change was kept")
        with pytest.raises(Unavailable):
            await transactor.do(note("refused"))
        failing.failure, failing.load_failure = None, GONE
        with pytest.raises(Unavailable, match="the disk is full"):
            await transactor.do(note("refused"))
        assert JobId("7") not in transactor.memory.jobs
        failing.load_failure = None
        await eventually(transactor.reloaded.is_set)
        assert JobId("7") in transactor.memory.jobs
        assert await transactor.do(note("kept")) == "kept"


async def test_a_value_that_the_store_rejects_harms_nobody_else(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, failing):
        commit = failing.commit

        def picky(batch: Batch) -> int:
            if any(event.subject == "odd" for event in batch.events):
                raise ValueRejected("a text isn't valid Unicode")
            return commit(batch)

        failing.commit = picky  # type: ignore[method-assign]
        answers = await asyncio.gather(
            *(transactor.do(note(name)) for name in ("one", "odd", "two")), return_exceptions=True
        )
        assert (answers[0], answers[2]) == ("one", "two")
        assert isinstance(answers[1], Conflict)
        assert kinds(failing.store) == ["test.Noted"] * 2
        assert not transactor.fault


async def test_a_controller_that_has_stopped_gives_out_no_numbers(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (transactor, _):
        await transactor.stop()
        with pytest.raises(Unavailable, match="stopping"):
            await transactor.numbers(1)


async def test_what_was_decided_before_memory_was_read_anew_is_refused(tmp_path: Path) -> None:
    """A plan's room may be somebody else's by then. What users ask for is tried on what is true now."""

    async with controlled(tmp_path) as (transactor, failing):
        failing.failure = StoreDiverged("a change was kept")
        with pytest.raises(Unavailable):
            await transactor.do(note("first"))
        failing.failure = None
        decided = asyncio.create_task(transactor.do_each([(JobId("7"), note("decided"))]))
        asked = asyncio.create_task(transactor.do(note("asked")))
        [refused] = await decided
        assert isinstance(refused, Unavailable)
        assert await asked == "asked"
        assert await transactor.do_each([(JobId("7"), note("decided anew"))]) == [None]
        subjects = [event.row.subject for event in failing.store.events(0)]
        assert subjects == ["asked", "store", "decided anew"]
