"""What comes after a task's processes: the outputs that it was to leave are collected."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from rota.backends.process.folders import Folders
from rota.backends.process.keeper.files.outputs import collect
from rota.backends.process.keeper.processes.kernel import Aside
from rota.backends.process.keeper.processes.side_work import SideWork
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.lifecycle.state import TaskEnd


class Collecting:
    def __init__(
        self, folders: Folders, side_work: SideWork, over: Callable[[KeptTask, TaskEnd], None]
    ) -> None:
        """`over`: is told of tasks once it is done."""
        self._folders = folders
        self._side_work = side_work
        self._over = over

    def collect(self, task: KeptTask, end: TaskEnd) -> None:
        run, room = task.start.run, task.room
        if not run.outputs or room is None:
            self._over(task, end)
            return
        task.stage = Stage.COLLECTING
        source = Path(run.directory) if run.directory else room.work
        target = self._folders.outputs_of_task(task.ref)
        self._side_work.begin(
            partial(
                collect,
                run.outputs,
                source,
                target,
                move=task.account is None and not run.directory,
                account=task.account,
            ),
            partial(self._collected, task, end),
        )

    def _collected(self, task: KeptTask, end: TaskEnd, aside: Aside) -> None:
        notes = [note for note in (end.message, aside.text, aside.failure) if note]
        self._over(task, replace(end, message="; ".join(notes)))
