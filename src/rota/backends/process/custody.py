"""All tasks of this keeper, from the moment it is told of one until its end is settled.

    WAITING ──► (STAGING) ──► RUNNING ──► CLEARING ──► (COLLECTING) ──► OVER

Whatever a later keeper has to know is added to the journal here; `keeper.py` sees to it that it is
written before anybody hears of it.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart, TaskStarted
from rota.backends.process import journal, processes
from rota.backends.process.aside import Aside
from rota.backends.process.cgroups import Cgroups, Group
from rota.backends.process.cleaning import Cleaning
from rota.backends.process.ending import end_of, end_unseen, used_by
from rota.backends.process.folders import Folders
from rota.backends.process.journal import Journal
from rota.backends.process.lanes import Arrival, Lanes
from rota.backends.process.log_writer import Drain, LogWriter, Rotation
from rota.backends.process.outlets import Outlets
from rota.backends.process.outputs import collect
from rota.backends.process.processes import now_ms, since_boot_ms
from rota.backends.process.recovery import Finished, Remembered
from rota.backends.process.rooms import Rooms
from rota.backends.process.segments import Origin
from rota.backends.process.spawning import base_environment, prepare, spawn
from rota.backends.process.staging import stage
from rota.backends.process.task import KeptTask, Stage
from rota.backends.process.trees import Trees
from rota.backends.process.watch import Watch
from rota.lifecycle.state import EndReason, TaskEnd, Used

STARTS_AT_ONCE = 16
"""Then whatever else has happened meanwhile is looked after."""
_LOOK_AGAIN_MS = 50
_HOW_IT_ENDED_WITHIN_MS = 2_000


class Custody:
    def __init__(
        self,
        folders: Folders,
        name: str,
        written: Journal,
        watch: Watch,
        cgroups: Cgroups,
        rotation: Rotation,
    ) -> None:
        self._folders = folders
        self._journal = written
        self._watch = watch
        self._cgroups = cgroups
        self._rotation = rotation
        self._rooms = Rooms(folders.rooms)
        self._outlets = Outlets(watch)
        self._cleaning = Cleaning(self._rooms, self._begin_aside)
        self._trees = Trees(name)
        self._lanes = Lanes()
        self._tasks: dict[TaskRef, KeptTask] = {}
        self._to_start: deque[KeptTask] = deque()
        self._running: dict[TaskRef, KeptTask] = {}
        """Those whose processes aren't all gone."""
        self._by_pid: dict[int, KeptTask] = {}
        """Those of them that are children of this keeper, until they are reaped."""
        self._asides: dict[int, tuple[Aside, Callable[[], None]]] = {}
        self._reports: list[TaskReport] = []
        self._base = base_environment(os.environ)
        self._boot_id = processes.boot_id()

    # What it is told

    def start(self, starts: Iterable[TaskStart]) -> None:
        for start in starts:
            if start.ref not in self._tasks:
                self._journal.add(journal.Told(start))
                self._accept(KeptTask(start))

    def stop(self, refs: Iterable[TaskRef]) -> None:
        for ref in refs:
            if (task := self._tasks.get(ref)) and task.told_to is None:
                self._end(task, EndReason.STOPPED)

    def stop_all(self) -> None:
        self.stop(list(self._tasks))

    def change_limit(self, ref: TaskRef, time_limit_ms: int) -> None:
        if (task := self._tasks.get(ref)) and task.over is None:
            task.time_limit_ms, task.limit_changed, task.was_warned = time_limit_ms, True, False
            self._journal.add(journal.LimitChanged(ref, time_limit_ms))

    def settle(self, refs: Sequence[TaskRef]) -> None:
        settled = [ref for ref in refs if (task := self._tasks.get(ref)) and task.over is not None]
        for ref in settled:
            self._lanes.settles(self._tasks.pop(ref).start.lane, ref)
        if settled:
            self._journal.add(journal.Settled(tuple(settled)))

    # What it says

    def unsettled(self) -> list[TaskRef]:
        return list(self._tasks)

    def take_reports(self) -> list[TaskReport]:
        reports, self._reports = self._reports, []
        return reports

    def all_reports(self) -> list[TaskReport]:
        """Of all that isn't settled, for somebody who has just come."""
        return [report for task in self._tasks.values() for report in task.reports()]

    def entries(self) -> Iterable[journal.Entry]:
        for task in self._tasks.values():
            yield from task.entries()

    @property
    def lacking(self) -> Sequence[str]:
        return self._cgroups.lacking

    @property
    def wrong(self) -> str:
        return self._outlets.wrong

    @property
    def is_busy(self) -> bool:
        """Something runs, or is about to."""
        return bool(self._running or self._asides or self._to_start or self._outlets.are_stalled)

    # What happens

    def start_some(self) -> None:
        """Raises OSError if that can't be written down: then nothing was started."""
        batch = [self._to_start[at] for at in range(min(STARTS_AT_ONCE, len(self._to_start)))]
        trying = tuple(task.ref for task in batch if task.is_ready)
        if trying:
            self._journal.add(journal.Trying(trying))
        self._journal.flush()
        for _ in batch:
            self._to_start.popleft()
        for task in batch:
            if task.told_to is not None:
                self._over(task, TaskEnd(task.told_to))
            elif task.is_ready:
                self._spawn(task)
            else:
                self._stage(task)

    @property
    def has_more_to_start(self) -> bool:
        return bool(self._to_start)

    def reap(self) -> None:
        """Children that have ended, of whatever kind."""
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                break
            if found is None:
                break
            pid = found.si_pid
            task = self._by_pid.pop(pid, None)
            if task is not None:
                # As long as it isn't reaped, nobody else can get its number.
                processes.kill_group(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            self._trees.reaped(pid)
            if task is not None:
                task.status, task.used = status, used_by(usage)
                task.stage = Stage.CLEARING
            elif pid in self._asides:
                aside, then = self._asides.pop(pid)
                aside.ended(status)
                then()
        self._clear()

    def next_due_ms(self) -> int | None:
        """On the clock since boot."""
        dues = [task.due_ms for task in self._running.values()]
        if self._outlets.are_stalled or self._is_clearing:
            dues.append(since_boot_ms() + _LOOK_AGAIN_MS)
        return min((due for due in dues if due is not None), default=None)

    def do_what_is_due(self) -> None:
        now = since_boot_ms()
        for task in list(self._running.values()):
            if (due_ms := task.due_ms) is None or due_ms > now:
                continue
            if task.told_to is not None:
                task.kill_at_ms = None
                self._trees.signal(task, signal.SIGKILL)
            elif (limit_at_ms := task.limit_at_ms) is not None and limit_at_ms <= now:
                self._end(task, EndReason.TIME_LIMIT)
            else:
                task.was_warned = True
                self._trees.signal(task, task.warn_signal)
        if self._is_clearing:
            self._clear()
        self._outlets.retry()

    @property
    def _is_clearing(self) -> bool:
        return any(task.stage is Stage.CLEARING for task in self._running.values())

    # The way of a task

    def _accept(self, task: KeptTask) -> None:
        self._tasks[task.ref] = task
        lane = task.start.lane
        if not task.start.standby:
            self._lanes.enters(lane)
            self._to_start.append(task)
            return
        match self._lanes.arrives(lane, task.ref):
            case Arrival.STARTS:
                self._to_start.append(task)
            case Arrival.RETURNS:
                self._return(task)

    def _stage(self, task: KeptTask) -> None:
        try:
            task.room = room = self._rooms.take()
        except OSError as error:
            self._over(task, TaskEnd(EndReason.STAGING, message=_text(error)))
            return
        task.stage = Stage.STAGING
        task.aside = Aside(partial(stage, task.start.run, self._folders, room))
        self._begin_aside(task.aside, partial(self._staged, task, task.aside))

    def _staged(self, task: KeptTask, aside: Aside) -> None:
        task.aside = None
        task.stage = Stage.WAITING
        if task.told_to is not None:
            self._over(task, TaskEnd(task.told_to))
        elif aside.failure:
            self._over(task, TaskEnd(EndReason.STAGING, message=aside.failure))
        else:
            task.is_staged = True
            self._to_start.appendleft(task)

    def _spawn(self, task: KeptTask) -> None:
        start, ref = task.start, task.ref
        try:
            room = task.room = task.room or self._rooms.take()
            group = task.group = self._cgroups.make(f"{ref.job}-{ref.rank}-{ref.fence}", start.limits)
            writer = self._writer(ref)
            prepare(start, room)
            spawned = spawn(start, room, group, self._base, self._trees.mark(task))
        except (OSError, ValueError) as error:
            self._over(task, TaskEnd(EndReason.NOT_STARTED, message=_text(error)))
            return
        self._trees.own.add(spawned.pid)
        self._by_pid[spawned.pid] = task
        pipes = os.fstat(spawned.out).st_ino, os.fstat(spawned.err).st_ino
        began = journal.Began(
            ref,
            spawned.at_ms,
            spawned.since_boot_ms,
            spawned.within_ms,
            spawned.pid,
            self._boot_id,
            room.number,
            group.paths if group else (),
            pipes,
        )
        self._journal.add(began)
        self._runs(task, began, Drain(spawned.out, spawned.err, writer))
        self._reports.append(TaskStarted(ref, began.at_ms))

    def _runs(self, task: KeptTask, began: journal.Began, drain: Drain) -> None:
        task.stage = Stage.RUNNING
        task.began, task.drain = began, drain
        task.started = TaskStarted(task.ref, began.at_ms)
        self._running[task.ref] = task
        self._outlets.open(drain)

    def _end(self, task: KeptTask, why: EndReason) -> None:
        """Has it end, in whatever stage it is."""
        if task.over is not None:
            return
        if task.start.standby and self._lanes.withdraws(task.start.lane, task.ref):
            self._return(task)
            return
        task.told_to = why
        self._journal.add(journal.StopAsked(task.ref, why))
        if task.aside is not None and task.stage is Stage.STAGING:
            processes.kill(task.aside.pid, signal.SIGKILL)
        elif task.stage is Stage.RUNNING:
            self._trees.signal(task, signal.SIGTERM)
            # One that is stopped (SIGSTOP) would never see it.
            self._trees.signal(task, signal.SIGCONT)
            task.kill_at_ms = since_boot_ms() + task.start.run.grace_ms

    def _clear(self) -> None:
        for task in self._trees.kill_rest(self._running.values()):
            if task.is_adopted and task.status is None and self._may_still_be_told(task):
                continue
            self._cleared(task)

    def _cleared(self, task: KeptTask) -> None:
        """None of its processes is left."""
        assert task.drain is not None
        del self._running[task.ref]
        if task.pidfd is not None:
            os.close(task.pidfd)
        is_written = self._outlets.finish(task.drain)
        out_of_memory = False
        if task.group is not None:
            out_of_memory = task.group.ran_out_of_memory()
            task.used = Used(task.used.cpu_ms, task.group.max_memory_bytes())
            task.group.remove()
        self._leave_lane(task)
        if task.status is None:
            end = end_unseen(task.told_to)
        else:
            end = end_of(task.status, task.used, told_to=task.told_to, out_of_memory=out_of_memory)
        if not is_written:
            end = replace(end, message=f"the last of its output isn't written yet: {self._outlets.wrong}")
        self._collect(task, end)

    def _collect(self, task: KeptTask, end: TaskEnd) -> None:
        run, room = task.start.run, task.room
        if not run.outputs or room is None:
            self._over(task, end)
            return
        task.stage = Stage.COLLECTING
        source = Path(run.directory) if run.directory else room.work
        target = self._folders.outputs_of_task(task.ref.job, task.ref.rank)
        aside = Aside(partial(collect, run.outputs, source, target, move=not run.directory))
        self._begin_aside(aside, partial(self._collected, task, end, aside))

    def _collected(self, task: KeptTask, end: TaskEnd, aside: Aside) -> None:
        notes = [note for note in (end.message, aside.text, aside.failure) if note]
        self._over(task, replace(end, message="; ".join(notes)))

    def _over(self, task: KeptTask, end: TaskEnd) -> None:
        self._leave_lane(task)
        if task.room is not None:
            self._cleaning.after(task.room)
        self._report(task, TaskEnded(task.ref, now_ms(), end))

    def _return(self, task: KeptTask) -> None:
        task.holds_room = False
        self._report(task, TaskReturned(task.ref, now_ms()))

    def _report(self, task: KeptTask, report: TaskEnded | TaskReturned) -> None:
        task.stage, task.over = Stage.OVER, report
        self._journal.add(journal.Over(report, task.started, task.start.lane))
        self._reports.append(report)

    def _leave_lane(self, task: KeptTask) -> None:
        if not task.holds_room:
            return
        task.holds_room = False
        following = self._lanes.leaves(task.start.lane, task.ref)
        if following is not None:
            self._to_start.appendleft(self._tasks[following])

    def _begin_aside(self, aside: Aside, then: Callable[[], None]) -> None:
        self._trees.own.add(aside.pid)
        self._asides[aside.pid] = aside, then

    def _writer(self, ref: TaskRef) -> LogWriter:
        return LogWriter(self._folders.logs_of(ref.job), Origin(ref.rank, ref.fence), self._rotation)

    # After another keeper

    def recover(self, unfinished: Iterable[Remembered], finished: Iterable[Finished]) -> None:
        for each in finished:
            self._tasks[each.report.ref] = each.as_task()
        untried = []
        for remembered in unfinished:
            task = remembered.as_task()
            if remembered.began is not None:
                self._adopt(task, remembered.began)
            elif remembered.was_tried:
                self._give_up(task)
            else:
                untried.append(task)
        kept = {task.room.number for task in self._running.values() if task.room is not None}
        for room in self._rooms.existing():
            if room.number not in kept:
                self._cleaning.remove(room)
        for task in sorted(untried, key=lambda each: each.start.standby):
            self._accept(task)

    def _adopt(self, task: KeptTask, began: journal.Began) -> None:
        """It may have ended meanwhile: then what it left behind has to go."""
        self._tasks[task.ref] = task
        self._lanes.enters(task.start.lane)
        task.is_adopted = True
        task.room = self._rooms.of(began.room)
        task.group = Group(began.groups) if began.groups else None
        if began.boot_id == self._boot_id:
            from_ms = began.since_boot_ms
            task.pidfd = processes.open_pidfd(began.pid, from_ms, from_ms + began.within_ms)
        holders = [began.pid, *self._trees.marked(task)] if task.pidfd is not None else []
        out, err = (processes.reopen_pipe(holders, inode) for inode in began.pipes)
        writer = self._writer(task.ref)
        writer.resume()
        self._runs(task, began, Drain(out, err, writer))
        if task.pidfd is None:
            task.stage = Stage.CLEARING
            return
        self._watch.add(task.pidfd, partial(self._adopted_ended, task, task.pidfd))
        if task.told_to is not None:
            self._trees.signal(task, signal.SIGTERM)
            task.kill_at_ms = since_boot_ms() + task.start.run.grace_ms

    def _adopted_ended(self, task: KeptTask, pidfd: int) -> None:
        self._watch.remove(pidfd)
        task.stage = Stage.CLEARING
        task.unseen_until_ms = since_boot_ms() + _HOW_IT_ENDED_WITHIN_MS

    def _may_still_be_told(self, task: KeptTask) -> bool:
        """The kernel says how it ended only once its new parent has asked."""
        if task.pidfd is None:
            return False
        task.status = processes.exit_status(task.pidfd)
        return task.status is None and since_boot_ms() < (task.unseen_until_ms or 0)

    def _give_up(self, task: KeptTask) -> None:
        """The other keeper ended while it started this one, or just before: it is not to run twice."""
        self._tasks[task.ref] = task
        self._lanes.enters(task.start.lane)
        for pid in self._trees.marked(task):
            processes.kill(pid, signal.SIGKILL)
        self._over(task, end_unseen(task.told_to))


def _text(error: OSError | ValueError) -> str:
    """Without its number."""
    if not isinstance(error, OSError):
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
