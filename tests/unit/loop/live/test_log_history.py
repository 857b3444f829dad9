"""What jobs wrote goes by age and by size, the oldest first, and it is known up to when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rota.backends.registry import Registry
from rota.loop.live import log_history
from rota.loop.live.log_history import Kept, LogKeeper
from rota.model.ids import JobId
from rota.store.store import Store, open_store
from rota.store.writing.prune import History
from tests.obedient import ObedientBackend
from tests.stored import job, keep

pytestmark = pytest.mark.covers("first-2")

NOW_MS = 1_000_000


class Disk(ObedientBackend):
    """Each job has left so much."""

    def __init__(self, each_bytes: int = 10) -> None:
        super().__init__()
        self.each_bytes = each_bytes
        self.forgotten: list[str] = []

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        return [0 if job in self.forgotten else self.each_bytes for job in jobs]

    async def forget(self, jobs: Sequence[JobId]) -> None:
        self.forgotten.extend(jobs)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/rota.db") as opened:
        yield opened


def ended(store: Store, count: int, first_ms: int = 1) -> None:
    keep(
        store,
        *(job(str(n), phase="failed", ended_ms=first_ms + n - 1) for n in range(1, count + 1)),
        job(str(count + 1), phase="running"),
    )


def tidied(keeper: LogKeeper) -> int:
    """How many steps it took."""

    async def tidy() -> int:
        steps = 1
        while await keeper.tidy(NOW_MS):
            steps += 1
        return steps

    return asyncio.run(tidy())


def test_by_default_all_stays(store: Store) -> None:
    ended(store, 5)
    disk = Disk()
    tidied(LogKeeper(store, Registry([disk]), Kept()))
    assert disk.forgotten == []
    assert store.logs_pruned_ms() == 0


def test_what_is_old_goes_and_its_job_stays(store: Store) -> None:
    ended(store, 5, first_ms=NOW_MS - 102)
    disk = Disk()
    tidied(LogKeeper(store, Registry([disk]), Kept(age_ms=100)))
    assert disk.forgotten == ["1", "2", "3"]
    assert store.logs_pruned_ms() == NOW_MS - 100
    assert store.job(JobId("1")) is not None


def test_of_too_much_the_oldest_goes(store: Store) -> None:
    ended(store, 10)
    disk = Disk(each_bytes=10)
    keeper = LogKeeper(store, Registry([disk]), Kept(size_bytes=45))
    tidied(keeper)
    assert disk.forgotten == ["1", "2", "3", "4", "5", "6"]
    assert store.logs_pruned_ms() == 6
    tidied(keeper)
    assert len(disk.forgotten) == 6


def test_what_ended_last_stays_however_much_it_is(store: Store) -> None:
    ended(store, 3)
    disk = Disk(each_bytes=1000)
    tidied(LogKeeper(store, Registry([disk]), Kept(size_bytes=10)))
    assert disk.forgotten == ["1", "2"]


def test_jobs_that_were_removed_no_longer_count(store: Store) -> None:
    ended(store, 10)
    disk = Disk(each_bytes=10)
    keeper = LogKeeper(store, Registry([disk]), Kept(size_bytes=100))
    tidied(keeper)
    store.prune(History(at_most=5), NOW_MS)
    keep(store, *(job(str(n), phase="failed", ended_ms=100 + n) for n in range(20, 25)))
    tidied(keeper)
    assert disk.forgotten == []


def test_another_server_goes_on_where_the_first_has_stopped(store: Store) -> None:
    ended(store, 10)
    disk = Disk(each_bytes=10)
    tidied(LogKeeper(store, Registry([disk]), Kept(size_bytes=45)))
    tidied(LogKeeper(store, Registry([disk]), Kept(size_bytes=45)))
    assert len(disk.forgotten) == 6


def test_steps_are_small_and_in_the_end_all_is_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_history, "FORGOTTEN_AT_ONCE", 2)
    monkeypatch.setattr(log_history, "MEASURED_AT_ONCE", 3)
    ended(store, 9)
    disk = Disk()
    assert tidied(LogKeeper(store, Registry([disk]), Kept(age_ms=100, size_bytes=1000))) > 4
    assert disk.forgotten == [str(number) for number in range(1, 10)]
    assert store.logs_pruned_ms() == NOW_MS - 100


def test_jobs_of_the_same_moment_all_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_history, "FORGOTTEN_AT_ONCE", 2)
    keep(store, *(job(str(n), phase="failed", ended_ms=5) for n in range(1, 6)))
    disk = Disk()
    tidied(LogKeeper(store, Registry([disk]), Kept(age_ms=100)))
    assert sorted(disk.forgotten) == ["1", "2", "3", "4", "5"]
