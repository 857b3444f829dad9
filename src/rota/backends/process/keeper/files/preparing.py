"""What comes before a task's process: its account is looked up, its room is taken, its files are staged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rota.backends.process.folders import Folders
from rota.backends.process.keeper.files.rooms import Rooms
from rota.backends.process.keeper.files.staging import stage
from rota.backends.process.keeper.ledger import Ledger
from rota.backends.process.keeper.processes.ending import error_text
from rota.backends.process.keeper.processes.kernel import Aside
from rota.backends.process.keeper.processes.side_work import SideWork
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.backends.process.keeper.tenants import Tenants
from rota.lifecycle.state import EndReason, TaskEnd


class Preparing:
    def __init__(
        self,
        folders: Folders,
        ledger: Ledger,
        tenants: Tenants,
        rooms: Rooms,
        side_work: SideWork,
        over: Callable[[KeptTask, TaskEnd], None],
    ) -> None:
        """`over`: is told of tasks that end here."""
        self._folders = folders
        self._ledger = ledger
        self._tenants = tenants
        self._rooms = rooms
        self._side_work = side_work
        self._over = over

    def look_up(self, task: KeptTask) -> None:
        task.stage = Stage.STAGING
        task.aside = self._side_work.begin(self._tenants.look_up(task.start), partial(self._looked_up, task))

    def _looked_up(self, task: KeptTask, aside: Aside) -> None:
        task.aside, task.stage = None, Stage.WAITING
        if task.told_to is not None:
            self._over(task, TaskEnd(task.told_to))
            return
        self._tenants.learn(task.start, aside.text, aside.failure)
        self._ledger.to_start.appendleft(task)

    def stage(self, task: KeptTask) -> None:
        try:
            task.account = self._tenants.account_of(task.start)
            task.room = room = self._rooms.take(task.account)
        except ValueError as error:
            self._over(task, TaskEnd(EndReason.NOT_STARTED, message=str(error)))
            return
        except OSError as error:
            self._over(task, TaskEnd(EndReason.STAGING, message=error_text(error)))
            return
        task.stage = Stage.STAGING
        start = task.start
        task.aside = self._side_work.begin(
            partial(stage, start.run, self._folders, room, start.limits.storage_bytes),
            partial(self._staged, task),
        )

    def _staged(self, task: KeptTask, aside: Aside) -> None:
        task.aside = None
        task.stage = Stage.WAITING
        if task.told_to is not None:
            self._over(task, TaskEnd(task.told_to))
        elif aside.failure:
            self._over(task, TaskEnd(EndReason.STAGING, message=aside.failure))
        else:
            task.is_staged = True
            self._ledger.to_start.appendleft(task)
