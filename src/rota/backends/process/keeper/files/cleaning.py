"""Rooms after their tasks: given on if they are as they were, removed if not."""

from __future__ import annotations

from collections.abc import Callable

from rota.backends.process.keeper.files.rooms import Room, Rooms
from rota.backends.process.keeper.processes.kernel import Aside


class Cleaning:
    """Removes rooms one after the other, aside: that can take long, and nobody waits for it."""

    def __init__(
        self, rooms: Rooms, begin: Callable[[Callable[[], str | None], Callable[[Aside], None]], Aside]
    ) -> None:
        """`begin`: does the first aside, and calls the second when it is done."""
        self._rooms = rooms
        self._begin = begin
        self._dirty: list[Room] = []
        self._is_cleaning = False

    @property
    def is_idle(self) -> bool:
        return not self._is_cleaning

    def after(self, room: Room) -> None:
        if not self._rooms.give_back(room):
            self.remove(room)

    def remove(self, room: Room) -> None:
        self._dirty.append(room)
        self._go_on()

    def _go_on(self) -> None:
        if self._is_cleaning or not self._dirty:
            return
        rooms, self._dirty = self._dirty, []

        def clean() -> str:
            for room in rooms:
                room.remove()
            return ""

        self._is_cleaning = True
        self._begin(clean, self._cleaned)

    def _cleaned(self, _: Aside) -> None:
        self._is_cleaning = False
        self._go_on()
