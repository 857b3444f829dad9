"""Tasks that another keeper started: they are taken over as they are found, or given up."""

from __future__ import annotations

import os
import signal
from functools import partial

from rota.backends.process.keeper.cgroups.groups import Group
from rota.backends.process.keeper.files.rooms import Rooms
from rota.backends.process.keeper.ledger import Ledger
from rota.backends.process.keeper.processes.ending import how_it_ended
from rota.backends.process.keeper.processes.kernel import Kernel
from rota.backends.process.keeper.processes.trees import Trees
from rota.backends.process.keeper.recovery import journal
from rota.backends.process.keeper.streams.log_writer import Drain, LogWriter
from rota.backends.process.keeper.streams.masking import Mask, Withheld
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.backends.process.keeper.watch import Watch
from rota.clock import boot_id, since_boot_ms
from rota.launch.accounts import Isolation

_HOW_IT_ENDED_WITHIN_MS = 2_000


class Adoption:
    def __init__(
        self,
        ledger: Ledger,
        watch: Watch,
        kernel: Kernel,
        trees: Trees,
        rooms: Rooms,
        isolation: Isolation,
    ) -> None:
        self._ledger = ledger
        self._watch = watch
        self._kernel = kernel
        self._trees = trees
        self._rooms = rooms
        self._isolation = isolation
        self._boot_id = boot_id()

    def drain_of(self, task: KeptTask, began: journal.Began, writer: LogWriter) -> Drain:
        """Takes it over; its output goes on where the other keeper left off."""
        self._ledger.hold(task)
        task.began = began
        task.has_started()
        task.is_adopted = True
        task.account = began.account
        task.room = self._rooms.of(began.room, began.account)
        task.group = Group(began.groups) if began.groups else None
        if began.boot_id == self._boot_id:
            from_ms = began.since_boot_ms
            task.pidfd = self._kernel.open_pidfd(began.pid, from_ms, from_ms + began.within_ms)
        out, err = self._reopened(task, began)
        if task.pidfd is not None and None in (out, err) and self._kernel.has_ended(task.pidfd):
            # What it wrote last went with it, unread: an exit code would claim that all is there.
            os.close(task.pidfd)
            task.pidfd = None
            out, err = self._reopened(task, began, out, err)
        writer.resume()
        return Drain(out, err, writer, self._mask_again(task, began))

    def watch(self, task: KeptTask) -> bool:
        """Whether it still runs. It may have ended meanwhile: then what it left behind has to go."""
        if task.pidfd is None:
            task.stage = Stage.CLEARING
            return False
        task.stage = Stage.RUNNING
        self._watch.add(task.pidfd, partial(self._ended, task, task.pidfd))
        return True

    def _reopened(
        self, task: KeptTask, began: journal.Began, *reopened: int | None
    ) -> tuple[int | None, ...]:
        """Its pipes, as far as they aren't yet, from whoever has them."""
        if task.pidfd is None:
            holders = sorted(self._trees.marked(task))
        else:
            holders = [began.pid, *self._kernel.children_of(began.pid)]
        return tuple(
            self._kernel.reopen_pipe(holders, inode) if fd is None else fd
            for fd, inode in zip(reopened or (None, None), began.pipes, strict=True)
        )

    def _mask_again(self, task: KeptTask, began: journal.Began) -> Mask | None:
        """The secrets weren't written down: its process still has them."""
        variables = [variable for variable, _ in task.start.run.secrets]
        if not variables:
            return None
        # The first process of a sandbox isn't the task's own, but its parent.
        pids = [] if task.pidfd is None else [began.pid, *self._kernel.children_of(began.pid)]
        found = (self._kernel.variables_of(pid, variables) for pid in pids)
        values = next((each for each in found if each is not None), None)
        return Withheld() if values is None else Mask(values)

    def _ended(self, task: KeptTask, pidfd: int) -> None:
        self._watch.remove(pidfd)
        task.stage = Stage.CLEARING
        task.unseen_until_ms = since_boot_ms() + _HOW_IT_ENDED_WITHIN_MS

    def may_still_be_told(self, task: KeptTask) -> bool:
        """How it ended: the kernel says so only once its new parent has asked."""
        if task.status is None and task.pidfd is not None:
            status = self._kernel.exit_status(task.pidfd)
            task.status = None if status is None else how_it_ended(status, task.room, self._isolation)
            return task.status is None and since_boot_ms() < task.unseen_until_ms
        return False

    def kill_half_started(self, task: KeptTask) -> None:
        """The other keeper ended while it started this one, or just before; or the machine did, and may have
        lost what was written last. It is not to run twice."""
        self._ledger.hold(task)
        for pid in self._trees.marked(task):
            self._kernel.kill(pid, signal.SIGKILL)
