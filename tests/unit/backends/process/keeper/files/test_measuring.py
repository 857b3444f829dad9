"""Who is looked at when, what counts, and who is ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from rota.backends.backend import TaskStart
from rota.backends.process.keeper.files.measuring import PAUSE_MS, Measuring, taken_by
from rota.backends.process.keeper.files.rooms import Room
from rota.backends.process.keeper.recovery import journal
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.lifecycle.state import EndReason
from rota.model.ids import NodeName
from rota.model.resources import Resources
from rota.model.run import Run
from tests.backends.witness import ref

pytestmark = pytest.mark.covers("trust-2")

MIB = 1 << 20


class Asides:
    """Work that is done when the test says so."""

    def __init__(self) -> None:
        self.begun: list[Callable[[Any], None]] = []

    def begin(self, work: Callable[[], str | None], then: Callable[[Any], None]) -> None:
        self.begun.append(then)

    def found(self, taken_bytes: int, took_ms: int = 0) -> None:
        self.begun.pop()(Result(f"{taken_bytes} {took_ms}"))

    def fails(self) -> None:
        self.begun.pop()(Result(""))


class Result:
    def __init__(self, text: str) -> None:
        self.text = text


class World:
    def __init__(self, folder: Path, most_bytes: int = 0) -> None:
        self.asides = Asides()
        self.ended: list[tuple[str, str]] = []
        self.tasks: list[KeptTask] = []
        self._folder = folder
        self.measuring = Measuring(self.asides, most_bytes, self._ends)  # type: ignore[arg-type]

    def _ends(self, task: KeptTask, why: str) -> None:
        self.ended.append((task.ref.job, why))
        task.told_to = EndReason.STORAGE_LIMIT

    def runs(self, job: str, limit_bytes: int = MIB, since_ms: int = 0) -> KeptTask:
        limits = Resources(storage_bytes=limit_bytes)
        task = KeptTask(TaskStart(ref(job), NodeName("n"), Run(), limits=limits))
        task.stage, task.room = Stage.RUNNING, Room(self._folder, int(job))
        task.began = journal.Began(ref(job), 0, since_ms, 0, 1, "", int(job), (), (0, 0), None)
        self.tasks.append(task)
        return task

    def looks(self, now_ms: int) -> bool:
        before = len(self.asides.begun)
        self.measuring.look(self.tasks, now_ms)
        return len(self.asides.begun) > before

    def due(self) -> int | None:
        return self.measuring.due_ms(self.tasks)


def test_a_task_is_looked_at_now_and_then(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.due() is None
    world.runs("1", since_ms=5)
    assert world.due() == PAUSE_MS + 5
    assert not world.looks(PAUSE_MS + 4)
    assert world.looks(PAUSE_MS + 5)
    # Not while it is being done.
    assert world.due() is None
    assert not world.looks(10 * PAUSE_MS)
    world.asides.found(MIB)
    assert world.due() == 2 * PAUSE_MS + 5
    assert not world.ended


def test_whoever_takes_more_is_ended_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.runs("1")
    world.looks(PAUSE_MS)
    world.asides.found(MIB + 1)
    [(job, why)] = world.ended
    assert job == "1"
    assert why.startswith("its files took more than 1Mi;")
    assert world.due() is None
    assert not world.looks(10 * PAUSE_MS)


def test_what_takes_long_is_done_seldom(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.runs("1")
    world.looks(PAUSE_MS)
    world.asides.found(0, took_ms=3000)
    assert world.due() == PAUSE_MS + 3000 + 60_000


def test_one_at_a_time_with_a_breath_between(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.runs("1", since_ms=1)
    world.runs("2")
    assert world.looks(PAUSE_MS + 1)
    assert not world.looks(PAUSE_MS + 1)
    world.asides.found(2 * MIB)
    assert [job for job, _ in world.ended] == ["2"]
    assert not world.looks(PAUSE_MS + 2)
    assert world.due() == PAUSE_MS + 101
    assert world.looks(PAUSE_MS + 101)


def test_the_machine_has_a_limit_for_those_without_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.runs("1", limit_bytes=0)
    assert not world.looks(PAUSE_MS)
    world = World(tmp_path, most_bytes=MIB)
    world.runs("1", limit_bytes=0)
    world.runs("2", limit_bytes=3 * MIB, since_ms=1)
    world.looks(PAUSE_MS)
    world.asides.found(2 * MIB)
    world.looks(2 * PAUSE_MS)
    world.asides.found(2 * MIB)
    assert [job for job, _ in world.ended] == ["1"]


def test_who_has_ended_meanwhile_or_cannot_be_measured_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    task = world.runs("1")
    world.looks(PAUSE_MS)
    world.asides.fails()
    assert world.due() is not None
    world.looks(100 * PAUSE_MS)
    task.stage = Stage.CLEARING
    world.asides.found(2 * MIB)
    assert not world.ended
    assert world.due() is None


def taken(*folders: Path, enough_bytes: int = 1 << 40) -> int:
    return taken_by(map(str, folders), enough_bytes, monotonic() + 60)


def test_blocks_count_without_holes_and_each_file_once(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    before = taken(tmp_path)
    (deep / "full").write_bytes(os.urandom(MIB))
    for name in ("again", "and-again"):
        os.link(deep / "full", tmp_path / name)
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 35)
    assert MIB <= taken(tmp_path) - before < 2 * MIB


def test_links_lead_nowhere(tmp_path: Path) -> None:
    outside, room = tmp_path / "outside", tmp_path / "room"
    outside.mkdir()
    room.mkdir()
    (outside / "large").write_bytes(os.urandom(MIB))
    (room / "up").symlink_to(outside)
    (room / "round").symlink_to(room)
    (room / "file").symlink_to(outside / "large")
    assert taken(room) < MIB
    assert taken(tmp_path / "room" / "up") == 0


def test_enough_is_enough(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).write_bytes(b"x" * 8192)
    assert 8192 < taken(tmp_path, enough_bytes=8192) < 100_000
    assert taken_by([str(tmp_path)], 1 << 40, monotonic() - 1) < 100_000


def test_what_is_very_deep_or_gone_stops_nobody(tmp_path: Path) -> None:
    # Deeper than is looked, and pytest can still remove it.
    os.makedirs(tmp_path / Path(*("d" * 300)))
    (tmp_path / "full").write_bytes(os.urandom(MIB))
    opened = len(os.listdir("/proc/self/fd"))
    assert taken(tmp_path, tmp_path / "gone") >= MIB
    assert len(os.listdir("/proc/self/fd")) == opened
