"""A room is given to the next task only if it is as it was made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rota.backends.process.keeper.files import rooms as module
from rota.backends.process.keeper.files.rooms import Room, Rooms


def _leaves_a_file(room: Room) -> None:
    (room.work / "left").touch()


def _leaves_a_hidden_file_in_tmp(room: Room) -> None:
    (room.tmp / ".left").touch()


def _leaves_something_beside(room: Room) -> None:
    (room.path / "script").touch()


def _opens_it_to_others(room: Room) -> None:
    room.work.chmod(0o755)


def _removes_it(room: Room) -> None:
    room.tmp.rmdir()


def _hides_the_time(room: Room) -> None:
    before = room.work.stat()
    (room.work / "left").touch()
    os.utime(room.work, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [
    _leaves_a_file,
    _leaves_a_hidden_file_in_tmp,
    _leaves_something_beside,
    _opens_it_to_others,
    _removes_it,
    _hides_the_time,
]


@pytest.fixture(params=[0.03, 0.0], ids=["made a while ago", "made just now"])
def room(request: pytest.FixtureRequest, rooms: Rooms) -> Room:
    """That was looked at once, by its time alone from then on if it was made a while before."""
    room = rooms.take()
    time.sleep(request.param)
    assert room.is_as_made()
    return room


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rooms:
    monkeypatch.setattr(module, "_LONG_NS", 20_000_000)
    return Rooms(tmp_path)


def test_one_that_was_left_as_it_was_is_given_to_the_next(rooms: Rooms, room: Room) -> None:
    for _ in range(3):
        assert rooms.give_back(room)
        assert rooms.take() is room


def test_one_that_was_used_and_tidied_up_as_well(rooms: Rooms, room: Room) -> None:
    _leaves_a_file(room)
    (room.work / "left").unlink()
    assert rooms.give_back(room)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.slow
def test_one_that_was_changed_is_not(rooms: Rooms, room: Room, change: Callable[[Room], None]) -> None:
    change(room)
    assert not rooms.give_back(room)
    assert rooms.take() is not room
