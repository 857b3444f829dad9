"""The production store on a disk that fails: each fault is what it is to be, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.api.people import Role
from rota.lifecycle.state import Phase
from rota.model.calendar import QueueMode, QueueState
from rota.model.cluster import TenantUsage
from rota.model.ids import JobId, NodeName, QueueName
from rota.store.errors import StoreDiverged, StoreUnavailable
from rota.store.writing.batch import Answer, Batch, NodeSettings, Project, Removal
from tests.faults.cluster import in_memory
from tests.faults.disk import Disk, Weather
from tests.faults.kept import Kept, found_in
from tests.faults.store import SeenStore
from tests.stored import EXITED, attempt, event, job

ONE, TWO = JobId("1"), JobId("2")


class Machine:
    """A disk, and one process after the other with a store on it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.weather = Weather()
        self.disk = Disk(folder, self.weather, Random(seed))
        self.kept = Kept()
        self.seen: list[int] = []
        """The last seq of each batch that was written."""
        self.store = self._open()

    def _open(self) -> SeenStore:
        return SeenStore(self.disk, self._see)

    def _see(self, batch: Batch, last_seq: int) -> None:
        self.kept.keep(batch)
        self.seen.append(last_seq)

    def commit(self, *events: str, jobs: tuple[str, ...] = ()) -> int:
        return self.store.commit(Batch([event(one) for one in events], [job(one) for one in jobs]))

    def kill(self) -> None:
        self.disk.outlive_process(self.store.database.close)

    def start(self) -> SeenStore:
        self.store = self._open()
        return self.store

    def has(self, job_id: JobId) -> bool:
        return self.store.job(job_id) is not None


@contextmanager
def machine(seed: int = 1) -> Iterator[Machine]:
    with TemporaryDirectory(dir=in_memory()) as folder:
        one = Machine(Path(folder), seed)
        try:
            yield one
        finally:
            one.kill()


def batch_of(acts: list[int], at: int) -> Batch:
    """A batch of whatever the numbers say."""
    batch = Batch()
    for number in acts:
        name = str(number % 4 + 1)
        match number % 7:
            case 0:
                batch.jobs.append(job(f"{name}0.{number % 3}", phase=("pending", "failed")[number % 2]))
            case 1:
                batch.jobs.append(job(name, phase=("pending", "running", "succeeded")[number % 3]))
            case 2:
                batch.events.append(event("job.Started", name, "vision", number=number))
            case 3:
                batch.queues.append(QueueState(QueueName(name), QueueMode.PAUSED, at))
            case 4:
                batch.node_settings.append(NodeSettings(NodeName(name), draining=number % 2 == 0))
            case 5:
                batch.usage.append(TenantUsage(name, at, (("cpu", number),)))
                batch.projects.append(Project(name, "", at, (("ada", Role.VIEWER),)))
                batch.answers.append(Answer("ada", name, "00", 200, b"{}", at))
            case _:
                batch.removed.append((Removal.PROJECT, name))
                batch.learnt = name.encode()
    batch.jobs = list({state.id: state for state in batch.jobs}.values())
    batch.attempts = [
        attempt(state.id, 1, ended_ms=12 if state.is_over else None, end=EXITED if state.is_over else None)
        for state in batch.jobs
    ]
    return batch


@pytest.mark.covers("ops-2")
@settings(max_examples=25)
@given(steps=st.lists(st.lists(st.integers(0, 200), max_size=5), max_size=5))
def test_what_is_found_is_what_was_committed(steps: list[list[int]]) -> None:
    with machine() as one:
        for at, acts in enumerate(steps):
            one.store.commit(batch_of(acts, at))
            assert found_in(one.store.database).differs_from(one.kept.contents()) == ""
        one.kill()
        one.start()
        assert found_in(one.store.database).differs_from(one.kept.contents()) == ""


def test_what_differs_is_told() -> None:
    batch = Batch(
        [event("a")], [job("1")], [attempt("1", 1)], queues=[QueueState(QueueName("q"), QueueMode.PAUSED, 1)]
    )
    expected = Kept()
    expected.keep(batch)

    def difference(**changes: object) -> str:
        found = Kept()
        found.keep(replace(batch, **changes))
        return found.contents().differs_from(expected.contents())

    assert difference() == ""
    assert difference(jobs=[]) == "jobs: 1 is missing"
    assert difference(jobs=[job("1"), job("2")]) == "jobs: 2 is new"
    assert difference(jobs=[job("1", phase="running")]) == "jobs: 1 is another: phase"
    assert difference(attempts=[]).startswith("attempts: TaskRef(job='1'")
    assert difference(events=[]) == "events: 1 is missing"
    assert difference(queues=[]) == "what a server loads: other queues"


def test_a_killed_process_loses_nothing_and_leaves_nothing_behind() -> None:
    with machine() as one:
        one.commit("a", jobs=("1",))
        before = one.disk.database
        one.kill()
        assert not before.exists()
        one.start()
        assert one.has(ONE)
        assert one.commit("b") == 2


def test_a_full_disk_keeps_nothing_is_still_read_and_recovers() -> None:
    with machine() as one:
        one.weather.is_full = True
        with pytest.raises(StoreUnavailable, match="the disk is full: free some room"):
            one.commit("a", jobs=("1",))
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            one.store.numbers.allocate(1)
        assert not one.has(ONE)
        assert one.seen == []
        one.weather.is_full = False
        assert one.commit("a") == 1


def test_a_commit_in_doubt_is_kept_once_or_tells_that_it_was() -> None:
    outcomes = set()
    for seed in range(12):
        with machine(seed) as one:
            batch = Batch(events=[event("a")], jobs=[job("1")])
            one.weather.loses_connection = 1.0
            with pytest.raises(StoreUnavailable, match="the disk can't be read or written"):
                one.store.commit(batch)
            one.weather.loses_connection = 0.0
            was_kept = one.has(ONE)
            outcomes.add(was_kept)
            assert one.seen == [1] * was_kept
            if was_kept and seed % 2:
                with pytest.raises(StoreDiverged):
                    one.commit("b")
                assert one.commit("b") == 2
            else:
                assert one.store.commit(batch) == 1
                assert one.store.counts()[Phase.PENDING] == 1
    assert outcomes == {True, False}


@pytest.mark.parametrize("pages_before", [0, 95])
def test_what_was_heard_of_survives_a_loss_of_power_and_the_rest_is_whole_or_gone(pages_before: int) -> None:
    """In the log alone, and where a checkpoint was under way."""
    seen = set()
    for seed in range(20):
        with machine(seed) as one:
            one.commit(jobs=("1",))
            while one.disk.pages_in_log < pages_before:
                one.commit("a")
            one.disk.heard()
            changed = Batch(jobs=[replace(job("1"), message="changed"), job("2")])
            one.store.commit(changed)
            one.kill()
            told = one.disk.lose_power()
            first = one.start().job(ONE)
            assert first is not None
            assert (first.message == "changed") is one.has(TWO)
            seen.add((told.rpartition("pages")[2].rstrip("0123456789"), one.has(TWO)))
            one.commit(jobs=("3",))
            one.kill()
            one.start()
            assert one.has(JobId("3"))
    if pages_before:
        assert seen == {(" were torn while they were copied", True)}
    else:
        assert seen == {(" survived", True), (" were lost", False), (" were torn after ", False)}


def test_what_a_killed_process_left_is_synced_before_it_is_believed() -> None:
    for seed in range(6):
        with machine(seed) as one:
            one.commit(jobs=("1",))
            one.kill()
            one.start()
            assert one.has(ONE)
            one.kill()
            assert one.disk.lose_power() == "nothing was under way"


def test_a_loss_of_power_may_lose_a_commit_that_was_not_synced() -> None:
    with machine() as one:
        with one.store.database.writer.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            raw.execute("PRAGMA synchronous = NORMAL")
        one.commit(jobs=("1",))
        one.disk.heard()
        one.kill()
        assert one.disk.lose_power() != "nothing was under way"
