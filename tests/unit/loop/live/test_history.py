"""What is over is kept as long as it is to be, and no longer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.backends.process.client.files import FileStore
from rota.backends.process.folders import Folders
from rota.backends.registry import Registry
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.transactor import Transactor
from rota.lifecycle.state import JobState
from rota.loop.live.history import EVERY_S, SLICE_S, HistoryKeeper, Pace, Retention
from rota.model.ids import JobId
from rota.model.policy import Policy
from rota.model.run import InputFile
from rota.store.store import Store, open_store
from rota.store.writing.batch import Batch
from rota.store.writing.prune import History
from tests.obedient import ObedientBackend
from tests.stored import event, job, keep

pytestmark = pytest.mark.covers("job-5")

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS


class Forgetting(ObedientBackend):
    def __init__(self) -> None:
        super().__init__()
        self.forgotten: list[str] = []

    async def forget(self, jobs: Sequence[JobId]) -> None:
        self.forgotten.extend(jobs)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/rota.db") as opened:
        yield opened


@pytest.fixture
def uploads(tmp_path: Path) -> FileStore:
    folders = Folders(tmp_path / "worker")
    folders.make()
    return FileStore(folders)


def uploaded(uploads: FileStore, content: bytes, age_ms: int) -> str:
    async def pieces() -> AsyncIterator[bytes]:
        yield content

    sha256 = asyncio.run(uploads.put(pieces())).sha256
    os.utime(uploads._folders.file(sha256), ns=(0, (NOW_MS - age_ms) * 1_000_000))
    return sha256


def with_file(state: JobState, sha256: str) -> JobState:
    files = (InputFile("in", sha256, 1),)
    return replace(state, spec=replace(state.spec, run=replace(state.spec.run, files=files)))


def transactor(store: Store) -> Transactor:
    memory = Memory(Policy())
    memory.load(store.load())
    return Transactor(store, memory, Feed(store, 0), clock=lambda: NOW_MS, chance=lambda: 0.5)


def tidied(
    control: Transactor, retention: Retention, uploads: FileStore | None = None, times: int = 1
) -> list[str]:
    """Which jobs the backend was told to forget."""

    async def tidy() -> None:
        for _ in range(times):
            await keeper.tidy()

    backend = Forgetting()
    keeper = HistoryKeeper(control, Registry([backend]), retention, uploads)
    asyncio.run(tidy())
    return backend.forgotten


def test_jobs_that_go_are_forgotten_by_their_backend(store: Store) -> None:
    keep(
        store,
        job("1", phase="succeeded", ended_ms=NOW_MS - 1000),
        job("2", phase="succeeded", ended_ms=NOW_MS - 10_000),
        job("3", phase="running"),
    )
    assert tidied(transactor(store), Retention(History(ttl_ms=5000))) == ["2"]
    assert store.job(JobId("2")) is None


def test_old_events_go(store: Store) -> None:
    store.commit(Batch(events=[event("job.Submitted", str(number)) for number in range(3)]))
    tidied(transactor(store), Retention())
    assert len(store.events(0)) == 3
    tidied(transactor(store), Retention(events_ms=DAY_MS))
    assert store.events(0) == []


def test_input_files_that_no_unfinished_job_needs_go(store: Store, uploads: FileStore) -> None:
    needed, done, nobodys, fresh = (
        uploaded(uploads, name, age_ms)
        for name, age_ms in ((b"1", 2 * DAY_MS), (b"2", 2 * DAY_MS), (b"3", 2 * DAY_MS), (b"4", DAY_MS // 2))
    )
    keep(
        store,
        with_file(job("1", phase="pending"), needed),
        with_file(job("2", phase="succeeded"), done),
    )
    tidied(transactor(store), Retention(uploads_ms=DAY_MS), uploads)
    there = [uploads.find(each) is not None for each in (needed, done, nobodys, fresh)]
    assert there == [True, False, False, True]


def test_input_files_stay_if_they_are_to_be_kept_for_ever(store: Store, uploads: FileStore) -> None:
    sha256 = uploaded(uploads, b"1", 50 * DAY_MS)
    tidied(transactor(store), Retention(), uploads)
    assert uploads.find(sha256) is not None


def test_input_files_stay_while_nobody_knows_all_jobs(store: Store, uploads: FileStore) -> None:
    sha256 = uploaded(uploads, b"1", 2 * DAY_MS)
    control = transactor(store)
    control.fault = "the connection was lost"
    tidied(control, Retention(uploads_ms=DAY_MS), uploads)
    assert uploads.find(sha256) is not None
    control.fault = ""
    tidied(control, Retention(uploads_ms=DAY_MS), uploads)
    assert uploads.find(sha256) is None


@pytest.mark.slow
@pytest.mark.covers("trust-5")
def test_all_that_is_to_go_goes_at_once_in_small_steps(store: Store) -> None:
    numbers = range(1, 2001)
    keep(store, *(job(str(number), phase="succeeded", ended_ms=1) for number in numbers))
    store.commit(Batch(events=[event("job.Submitted", str(number)) for number in numbers]))
    backend = Forgetting()
    retention = Retention(History(ttl_ms=1000), events_ms=1000)
    keeper = HistoryKeeper(transactor(store), Registry([backend]), retention, None)

    async def tidy() -> int:
        steps = 1
        while await keeper.tidy() < EVERY_S:
            steps += 1
        return steps

    assert asyncio.run(tidy()) > 2
    assert len(backend.forgotten) == len(numbers)
    assert store.events(0) == []


@pytest.mark.covers("trust-5")
def test_a_slice_grows_only_by_what_it_was_full_of() -> None:
    pace = Pace(1000)
    pace.took(removed=10, seconds=SLICE_S / 10)
    assert pace.at_most == 200
    pace.took(removed=200, seconds=SLICE_S / 10)
    assert pace.at_most == 400
    for _ in range(20):
        pace.took(removed=10, seconds=SLICE_S * 10)
    assert 0 < pace.at_most < 200
    for _ in range(20):
        pace.took(removed=pace.at_most, seconds=0)
    assert pace.at_most == 1000
