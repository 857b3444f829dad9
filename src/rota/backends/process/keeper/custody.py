"""Carries tasks through their lives.

WAITING ──► (STAGING) ──► (STARTING) ──► RUNNING ──► CLEARING ──► (COLLECTING) ──► OVER
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from msgspec.structs import replace

from rota.backends.backend import TaskRef, TaskStart
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.cgroups.groups import Cgroups, Wanted
from rota.backends.process.keeper.files.cleaning import Cleaning
from rota.backends.process.keeper.files.collecting import Collecting
from rota.backends.process.keeper.files.measuring import Measuring
from rota.backends.process.keeper.files.preparing import Preparing
from rota.backends.process.keeper.files.rooms import Rooms
from rota.backends.process.keeper.ledger import Ledger
from rota.backends.process.keeper.processes.ending import (
    INPUT_LOST,
    end_of,
    end_unseen,
    error_text,
    how_it_ended,
)
from rota.backends.process.keeper.processes.kernel import Kernel
from rota.backends.process.keeper.processes.side_work import SideWork
from rota.backends.process.keeper.processes.starts import Starts, too_late
from rota.backends.process.keeper.processes.trees import Trees
from rota.backends.process.keeper.recovery import journal
from rota.backends.process.keeper.recovery.adoption import Adoption
from rota.backends.process.keeper.recovery.left_to_do import Finished, Remembered
from rota.backends.process.keeper.streams.inlets import Inlets
from rota.backends.process.keeper.streams.log_writer import Drain, LogWriter
from rota.backends.process.keeper.streams.masking import Mask
from rota.backends.process.keeper.streams.outlets import Outlets
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.backends.process.keeper.tenants import Tenants
from rota.backends.process.keeper.watch import Watch
from rota.backends.process.options import KeeperOptions
from rota.backends.process.segments import Origin
from rota.clock import boot_id, since_boot_ms
from rota.lifecycle.state import EndReason, TaskEnd, Used

STARTS_AT_ONCE = 16
"""Then whatever else has happened meanwhile is looked after."""
_LOOK_AGAIN_MS = 50


class Custody:
    def __init__(
        self,
        folders: Folders,
        name: str,
        ledger: Ledger,
        watch: Watch,
        kernel: Kernel,
        cgroups: Cgroups,
        options: KeeperOptions,
    ) -> None:
        """`name`: of this keeper, in the marks of its tasks."""
        self._folders = folders
        self._ledger = ledger
        self._watch = watch
        self._kernel = kernel
        self._cgroups = cgroups
        self._options = options
        self._tenants = Tenants(options.confinement, folders.uids)
        self._rooms = Rooms(folders.rooms)
        self._outlets = Outlets(watch)
        self.inlets = Inlets(watch, ledger.has_all_input, self._hang_up)
        self._starts = Starts(watch, kernel, options.start_within_ms, self._runs)
        self._trees = Trees(name, kernel)
        self._side_work = SideWork(kernel, self._trees)
        self._cleaning = Cleaning(self._rooms, self._side_work.begin)
        self._preparing = Preparing(folders, ledger, self._tenants, self._rooms, self._side_work, self._over)
        self._collecting = Collecting(folders, self._side_work, self._over)
        self._isolation = options.confinement.isolation
        self._measuring = Measuring(self._side_work, options.most_storage_bytes, self._took_too_much)
        self._adoption = Adoption(ledger, watch, kernel, self._trees, self._rooms, self._isolation)
        self._running: dict[TaskRef, KeptTask] = {}
        """Those whose processes aren't all gone."""
        self._by_pid: dict[int, KeptTask] = {}
        """Those of them that are children of this keeper, until they are reaped."""
        self._boot_id = boot_id()

    @property
    def wrong(self) -> str:
        return self._outlets.wrong

    @property
    def is_busy(self) -> bool:
        """Something runs, or is about to."""
        return bool(
            self._running or self._side_work.is_going_on or self._ledger.to_start or self._outlets.are_stalled
        )

    def let_go(self) -> None:
        """Of what is open for tasks; they go on."""
        self.inlets.let_go()
        for task in self._running.values():
            task.let_go()

    # What makes tasks move

    def start_some(self) -> None:
        """Raises OSError if that can't be written down: then nothing was started."""
        to_start = self._ledger.to_start
        batch = [to_start[at] for at in range(min(STARTS_AT_ONCE, len(to_start)))]
        known = [task for task in batch if self._tenants.are_known(task.start)]
        self._ledger.tries([task for task in known if task.is_ready])
        for _ in batch:
            to_start.popleft()
        for task in batch:
            if task.told_to is not None:
                self._over(task, TaskEnd(task.told_to))
            elif task not in known:
                self._preparing.look_up(task)
            elif task.is_ready:
                self._spawn(task)
            else:
                self._preparing.stage(task)

    def end(self, task: KeptTask, why: EndReason) -> None:
        """In whatever stage it is; nothing happens if it is about to end anyway."""
        if task.told_to is not None or self._ledger.takes_back(task):
            return
        match task.stage:
            case Stage.WAITING:
                self._ledger.is_to_end(task, why)
            case Stage.STAGING:
                self._ledger.is_to_end(task, why)
                assert task.aside is not None
                self._kernel.kill(task.aside.pid, signal.SIGKILL)
            case Stage.STARTING:
                self._starts.listen(task)
                self._ledger.is_to_end(task, why)
                if task.word is None:
                    self._trees.ask_to_end(task)
                else:
                    self._starts.kill(task)
            case Stage.RUNNING:
                self._ledger.is_to_end(task, why)
                self._trees.ask_to_end(task)

    def end_by(self, task: KeptTask, by_ms: int) -> None:
        """Nobody may know of it any more by then: it is lost, whatever grace it has, and had."""
        self.end(task, EndReason.LOST)
        if task.kill_at_ms is not None:
            task.kill_at_ms = min(task.kill_at_ms, by_ms)

    def _took_too_much(self, task: KeptTask, why: str) -> None:
        task.told_why = why
        self.end(task, EndReason.STORAGE_LIMIT)

    def reap(self) -> None:
        """Children that have ended, of whatever kind."""
        while (pid := self._kernel.ended_child()) is not None:
            task = self._by_pid.pop(pid, None)
            if task is not None:
                # As long as it isn't reaped, nobody else can get its number.
                self._kernel.kill_group(pid, signal.SIGKILL)
            status, used = self._kernel.reap(pid)
            self._trees.reaped(pid)
            if task is not None:
                self._starts.listen(task)
                task.status, task.used = how_it_ended(status, task.room, self._isolation), used
                task.stage = Stage.CLEARING
            else:
                self._side_work.ended(pid, status)
        self._clear()

    def next_due_ms(self) -> int | None:
        """On the clock since boot."""
        dues = [self.inlets.next_due_ms(), *(task.due_ms for task in self._running.values())]
        dues.append(self._measuring.due_ms(self._running.values()))
        if self._outlets.are_stalled or self._is_clearing:
            dues.append(since_boot_ms() + _LOOK_AGAIN_MS)
        return min((due for due in dues if due is not None), default=None)

    def do_what_is_due(self) -> None:
        now = since_boot_ms()
        for task in list(self._running.values()):
            if (due_ms := task.due_ms) is None or due_ms > now:
                continue
            if task.stage is Stage.STARTING:
                self._starts_too_late(task, now)
            elif task.told_to is not None:
                task.kill_at_ms = None
                self._trees.signal(task, signal.SIGKILL)
            elif (limit_at_ms := task.limit_at_ms) is not None and limit_at_ms <= now:
                self.end(task, EndReason.TIME_LIMIT)
            else:
                task.was_warned = True
                self._trees.signal(task, task.warn_signal)
        if self._is_clearing:
            self._clear()
        self._measuring.look(self._running.values(), now)
        self._outlets.retry()
        self.inlets.do_what_is_due()

    # The stages

    def _spawn(self, task: KeptTask) -> None:
        start, ref = task.start, task.ref
        if task.lacks_secrets:
            self._over(task, TaskEnd(EndReason.NOT_STARTED, message="its secrets didn't come with it"))
            return
        try:
            if task.room is None:
                task.account = self._tenants.account_of(start)
                task.room = self._rooms.take(task.account)
            room = task.room
            group = task.group = self._cgroups.take(Wanted(start.limits, start.cpu_share_milli))
            writer = _writer(start, self._folders, self._options)
            spawned = self._kernel.spawn(start, room, group, self._trees.mark(task))
        except (OSError, ValueError) as error:
            if task.group is not None:
                self._cgroups.give_back(task.group)
            self._over(task, TaskEnd(EndReason.NOT_STARTED, message=error_text(error)))
            return
        self._trees.own.add(spawned.pid)
        self._by_pid[spawned.pid] = task
        began = journal.Began(
            ref,
            spawned.at_ms,
            spawned.since_boot_ms,
            spawned.within_ms,
            spawned.pid,
            self._boot_id,
            room.number,
            group.paths if group else (),
            (_inode(spawned.out), _inode(spawned.err)),
            task.account,
        )
        self._ledger.began(task, began)
        mask = Mask(value for _, value in start.secrets) if start.secrets else None
        self._holds(task, Drain(spawned.out, spawned.err, writer, mask))
        if spawned.stdin is not None:
            self.inlets.open(task, spawned.stdin, spawned.terminal)
        if spawned.word is None:
            self._runs(task)
        else:
            self._starts.begin(task, spawned.word, spawned.since_boot_ms)

    def _starts_too_late(self, task: KeptTask, now: int) -> None:
        if task.told_to is not None:
            # It hangs in the kernel, and can't be ended. But it is killed: should the kernel come back, it
            # ends without having executed anything of the job's.
            assert task.began is not None
            self._by_pid.pop(task.began.pid, None)
            task.unstarted = task.unstarted or too_late(task)
            self._cleared(task)
        elif (limit_at_ms := task.limit_at_ms) is not None and limit_at_ms <= now:
            self.end(task, EndReason.TIME_LIMIT)
        else:
            self.end(task, EndReason.NOT_STARTED)
            if task.stage is Stage.STARTING:
                task.unstarted = too_late(task)

    def _runs(self, task: KeptTask) -> None:
        task.stage = Stage.RUNNING
        self._ledger.started(task)

    def _holds(self, task: KeptTask, drain: Drain) -> None:
        task.drain = drain
        self._running[task.ref] = task
        self._outlets.open(drain)

    @property
    def _is_clearing(self) -> bool:
        return any(task.stage is Stage.CLEARING for task in self._running.values())

    def _clear(self) -> None:
        for task in self._trees.kill_rest(self._running.values()):
            if not self._adoption.may_still_be_told(task):
                self._cleared(task)

    def _cleared(self, task: KeptTask) -> None:
        """None of its processes is left."""
        assert task.drain is not None
        del self._running[task.ref]
        self._starts.leave(task)
        if task.pidfd is not None:
            os.close(task.pidfd)
        is_written = self._outlets.finish(task.drain)
        # After that: a terminal whose other side is closed can't be read from.
        self.inlets.close(task)
        out_of_memory = False
        if task.group is not None:
            out_of_memory = task.group.ran_out_of_memory()
            if (max_memory_bytes := task.group.max_memory_bytes()) is not None:
                task.used = Used(task.used.cpu_ms, max_memory_bytes)
            self._cgroups.give_back(task.group, ran_out_of_memory=out_of_memory)
        self._ledger.leaves_room(task)
        if task.unstarted:
            self._over(task, TaskEnd(task.told_to or EndReason.NOT_STARTED, message=task.unstarted))
            return
        if task.status is None:
            end = end_unseen(task.told_to)
        else:
            end = end_of(task.status, task.used, told_to=task.told_to, out_of_memory=out_of_memory)
        if task.cut_off:
            end = replace(end, reason=EndReason.LOST, message=task.cut_off)
        if task.told_why:
            end = replace(end, message=task.told_why)
        if not is_written:
            end = replace(end, message=f"the last of its output isn't written yet: {self._outlets.wrong}")
        self._collecting.collect(task, end)

    def _hang_up(self, task: KeptTask) -> None:
        """As a modem did: a shell ends itself and what it has started."""
        if task.stage is Stage.RUNNING:
            self._trees.signal(task, signal.SIGHUP)
            self._trees.signal(task, signal.SIGCONT)

    def _over(self, task: KeptTask, end: TaskEnd) -> None:
        if task.room is not None:
            self._cleaning.after(task.room)
        self._ledger.over(task, end)

    # After another keeper

    def recover(self, unfinished: Iterable[Remembered], finished: Iterable[Finished]) -> None:
        for each in finished:
            self._ledger.keep_report(each.as_task())
        untried: list[KeptTask] = []
        for remembered in unfinished:
            task = remembered.as_task()
            if remembered.began is not None:
                writer = _writer(task.start, self._folders, self._options)
                self._holds(task, self._adoption.drain_of(task, remembered.began, writer))
                if self._adoption.watch(task) and task.told_to is not None:
                    self._trees.ask_to_end(task)
                if task.start.run.takes_input and not task.has_input:
                    task.cut_off = INPUT_LOST
                    self.end(task, EndReason.LOST)
            elif remembered.was_tried or remembered.boot_id != self._boot_id or task.lacks_secrets:
                self._adoption.kill_half_started(task)
                self._over(task, end_unseen(task.told_to))
            else:
                untried.append(task)
        kept = {task.room.number for task in self._running.values() if task.room is not None}
        for room in self._rooms.existing():
            if room.number not in kept:
                self._cleaning.remove(room)
        self._cgroups.remove_empty()
        for task in sorted(untried, key=lambda each: each.start.standby):
            self._ledger.queue(task)


def _inode(pipe: int | None) -> int:
    """None, and 0: there is none to find again."""
    return 0 if pipe is None else os.fstat(pipe).st_ino


def _writer(start: TaskStart, folders: Folders, options: KeeperOptions) -> LogWriter:
    ref = start.ref
    return LogWriter(folders.logs_of(ref.job), Origin(ref.rank, ref.fence), options.rotation, start.log_bytes)
