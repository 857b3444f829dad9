"""Bugs about who has which room, and from when on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.control.memory import Memory
from rota.control.rooms import StandbyRooms
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.state import LiveTask, TaskPhase


@contextmanager
def stopping_tasks_have_no_room() -> Iterator[None]:
    """Released when it is told to stop, and once more when it has."""

    def holds_room(task: LiveTask) -> bool:
        return task.has_room and task.phase is not TaskPhase.STOPPING

    with patch.object(LiveTask, "holds_room", property(holds_room)):
        yield


@contextmanager
def standby_rooms_are_given_twice() -> Iterator[None]:
    with patch.object(StandbyRooms, "heirs", lambda self, before, after: []):
        yield


@contextmanager
def evicted_rooms_go_to_those_on_standby() -> Iterator[None]:
    with patch.object(Memory, "standing_by", lambda self, job_id, node: []):
        yield


@contextmanager
def evicted_rooms_are_given_early() -> Iterator[None]:
    def carry_out(self: Dispatcher, instructions: Any) -> None:
        for instruction in instructions:
            self._note(instruction)

    with patch.object(Dispatcher, "carry_out", carry_out):
        yield
