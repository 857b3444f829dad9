from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.backends.backend import LogQuery, Stream, TaskRef
from rota.backends.process.client.log_reader import LogReader
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import DEFAULT_ROTATION, LogWriter
from rota.backends.process.segments import Origin
from rota.control.draft import Draft
from rota.control.memory import Memory
from rota.lifecycle.events import Bound, Seat
from rota.lifecycle.fences import epoch_of, fence_before
from rota.model.ids import JobId, NodeName
from rota.model.policy import Policy
from rota.server.leading.epoch import EpochError, begin_epoch
from rota.store.errors import StoreUnavailable
from rota.store.store import Store, open_store
from tests.unit.lifecycle.following import job_spec

JOB = JobId("7")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'rota.db'}") as opened:
        yield opened


def begun(store: Store, folder: Path) -> int:
    return begin_epoch(store, folder, [Folders(folder / "worker")])


def test_each_epoch_is_later_than_what_database_and_folder_know(store: Store, tmp_path: Path) -> None:
    first = begun(store, tmp_path / "here")
    assert begun(store, tmp_path / "here") > first
    ahead = first + 10**6
    (tmp_path / "here" / "epoch.json").write_text(f'{{"epoch": {ahead}, "number": 0}}')
    assert begun(store, tmp_path / "here") == ahead + 1
    assert begun(store, tmp_path / "elsewhere") == ahead + 2


def test_numbers_go_on_after_those_in_the_file(store: Store, tmp_path: Path) -> None:
    begun(store, tmp_path)
    first = store.numbers.allocate(1)
    with open_store(f"sqlite:///{tmp_path / 'copy.db'}") as copy:
        begun(copy, tmp_path)
        assert copy.numbers.allocate(1) > first


def test_numbers_go_on_after_those_of_folders_where_there_is_no_file(store: Store, tmp_path: Path) -> None:
    (tmp_path / "worker" / "logs" / "17.3").mkdir(parents=True)
    (tmp_path / "worker" / "outputs" / "not a job").mkdir(parents=True)
    begun(store, tmp_path)
    assert store.numbers.allocate(1) == 18


def test_numbers_that_a_server_gave_back_are_no_gap(tmp_path: Path) -> None:
    for expected in (1, 2, 3):
        with open_store(f"sqlite:///{tmp_path / 'rota.db'}") as store:
            begun(store, tmp_path)
            assert store.numbers.allocate(1) == expected


def test_no_number_is_given_out_that_cant_be_noted(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    begun(store, folder)
    (folder / "epoch.json").unlink()
    folder.rmdir()
    folder.write_text("in the way")
    with pytest.raises(StoreUnavailable, match="here"):
        store.numbers.allocate(1)


@pytest.mark.parametrize("text", ["", "{}}", '{"epoch": "x"}'])
def test_a_file_that_cant_be_read_is_told_of(store: Store, tmp_path: Path, text: str) -> None:
    (tmp_path / "epoch.json").write_text(text)
    with pytest.raises(EpochError, match=r"epoch\.json can't be read.*remove it"):
        begun(store, tmp_path)


def test_fences_are_of_the_epoch_and_only_rise() -> None:
    def started(memory: Memory, draft: Draft) -> int:
        state = draft.change(JOB, Bound((Seat(0, NodeName("a")),)))
        return state.live[0].fence

    memory = Memory(Policy(), epoch=100)
    draft = Draft(memory, 0, lambda: 0.5)
    state = draft.submit(JOB, 7, job_spec(), "mia")
    assert (state.epoch, state.fence) == (100, fence_before(100))
    later = Memory(Policy(), epoch=200)
    later.absorb(draft.sealed())
    assert started(later, Draft(later, 0, lambda: 0.5)) == fence_before(200) + 1
    assert started(memory, draft) == fence_before(100) + 1
    assert epoch_of(fence_before(100) + 1) == 100


def test_logs_of_an_epoch_before_are_another_jobs(tmp_path: Path) -> None:
    for epoch, text in ((0, b"ancient"), (5, b"old"), (9, b"own"), (11, b"again")):
        writer = LogWriter(tmp_path, Origin(0, fence_before(epoch) + 1), DEFAULT_ROTATION)
        writer.write(Stream.OUT, text, at_ms=epoch)
        writer.close()

    def read(epoch: int) -> list[bytes]:
        return [chunk.data for chunk in LogReader(tmp_path, LogQuery(JOB, epoch=epoch)).read()]

    assert read(9) == [b"own", b"again"]
    assert read(0) == [b"ancient", b"old", b"own", b"again"]


def test_outputs_lie_apart_by_epoch(tmp_path: Path) -> None:
    folders = Folders(tmp_path)

    def left(epoch: int) -> Path:
        folder = folders.outputs_of_task(TaskRef(JOB, 3, fence_before(epoch) + 1))
        folder.mkdir(parents=True)
        return folder

    [ancient, old, own, again] = [left(epoch) for epoch in (0, 5, 9, 11)]
    assert folders.all_outputs_of_task(JOB, 3, 9) == [again, own, ancient]
    assert folders.all_outputs_of_task(JOB, 3, 0) == [again, own, old, ancient]
    assert folders.all_outputs_of_task(JobId("8"), 3, 0) == [tmp_path / "outputs" / "8" / "3"]
