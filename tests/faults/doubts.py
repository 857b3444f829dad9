"""Calls of a backend that fail, before or after they were done, so that nobody knows which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rota.backends.agents.arrivals import Arrivals
from rota.backends.agents.backend import AgentsBackend
from rota.backends.backend import BackendUnavailable, TaskRef, TaskStart
from rota.model.ids import NodeName


class DoubtfulAgents(AgentsBackend):
    """The production backend; what goes wrong is the way to it."""

    def __init__(self, arrivals: Arrivals, fails: Callable[[], bool], **settings: Any) -> None:
        """`fails`: whether the next call does."""
        super().__init__(arrivals, **settings)
        self._fails = fails

    def _doubt(self) -> None:
        if self._fails():
            raise BackendUnavailable("somebody tripped over a cable")

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        self._doubt()
        taken = await super().take_up(tasks)
        self._doubt()
        return taken

    async def start(self, tasks: Sequence[TaskStart]) -> None:
        self._doubt()
        await super().start(tasks)
        self._doubt()

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        self._doubt()
        await super().stop(tasks)
        self._doubt()

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        self._doubt()
        await super().change_limit(task, time_limit_ms)
        self._doubt()

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        self._doubt()
        await super().settle(tasks)
        self._doubt()
