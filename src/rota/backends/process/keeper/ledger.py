"""Which tasks the keeper has been told of, who of them may start, and what is to be said of them.

Whatever a later keeper has to know is added to the journal here; `keeper.py` sees to it that it is
written before anybody hears of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart
from rota.backends.process.keeper.lanes import Arrival, Lanes
from rota.backends.process.keeper.outbox import Outbox
from rota.backends.process.keeper.recovery import journal
from rota.backends.process.keeper.recovery.journal import Journal
from rota.backends.process.keeper.task import KeptTask, Stage, without_secrets
from rota.clock import boot_id, now_ms
from rota.lifecycle.state import EndReason, TaskEnd


class Ledger:
    """More than twenty methods: one for each thing that happens to a task and goes into the journal."""

    def __init__(self, written: Journal) -> None:
        self._journal = written
        self._boot_id = boot_id()
        self._lanes = Lanes()
        self._tasks: dict[TaskRef, KeptTask] = {}
        self.outbox = Outbox()
        self.to_start: deque[KeptTask] = deque()

    def get(self, ref: TaskRef) -> KeptTask | None:
        return self._tasks.get(ref)

    def refs(self) -> list[TaskRef]:
        """Of all that isn't settled."""
        return list(self._tasks)

    # A task comes in

    def told(self, start: TaskStart) -> None:
        """May come twice."""
        if start.ref not in self._tasks:
            task = KeptTask(start, self._boot_id)
            self._journal.add(journal.Told(without_secrets(start), task.boot_id))
            self.queue(task)

    def queue(self, task: KeptTask) -> None:
        if not task.start.standby:
            self.hold(task)
            self.to_start.append(task)
            return
        self._tasks[task.ref] = task
        match self._lanes.arrives(task.start.lane, task.ref):
            case Arrival.STARTS:
                self.to_start.append(task)
            case Arrival.RETURNS:
                self._give_back(task)

    def hold(self, task: KeptTask) -> None:
        """It has room of its own."""
        self._tasks[task.ref] = task
        self._lanes.enters(task.start.lane)

    def keep_report(self, task: KeptTask) -> None:
        """Of a task that was over before this keeper came."""
        self._tasks[task.ref] = task

    # It goes its way

    def tries(self, tasks: Sequence[KeptTask]) -> None:
        """Raises OSError if that can't be written down: none of them may be started then."""
        if tasks:
            self._journal.add(journal.Trying(tuple(task.ref for task in tasks)))
        self._journal.flush()

    def began(self, task: KeptTask, began: journal.Began) -> None:
        """It has a process."""
        task.began = began
        self._journal.add(began)

    def started(self, task: KeptTask) -> None:
        """Its program is executed."""
        task.has_started()
        for report in task.reports():
            self._send(task, report)

    def limit_changed(self, task: KeptTask, time_limit_ms: int) -> None:
        task.time_limit_ms, task.limit_changed, task.was_warned = time_limit_ms, True, False
        self._journal.add(journal.LimitChanged(task.ref, time_limit_ms))

    def has_all_input(self, task: KeptTask) -> None:
        task.has_input = True
        self._journal.add(journal.InputOver(task.ref))

    def takes_back(self, task: KeptTask) -> bool:
        """False: it isn't on standby any more."""
        if not task.start.standby or not self._lanes.withdraws(task.start.lane, task.ref):
            return False
        self._give_back(task)
        return True

    def is_to_end(self, task: KeptTask, why: EndReason) -> None:
        task.told_to = why
        self._journal.add(journal.StopAsked(task.ref, why))

    def leaves_room(self, task: KeptTask) -> None:
        """None of its processes is left: who waits for that starts now."""
        if not task.holds_room:
            return
        task.holds_room = False
        following = self._lanes.leaves(task.start.lane, task.ref)
        if following is not None:
            self.to_start.appendleft(self._tasks[following])

    # It is over

    def never_heard_of(self, ref: TaskRef) -> None:
        """It is to stop, and whoever says so waits for its end. Should its start come after all, it is one
        that has ended."""
        end = TaskEnd(EndReason.LOST, message="the keeper doesn't know this task")
        report = TaskEnded(ref, now_ms(), end)
        task = self._tasks[ref] = KeptTask.finished(report)
        self._report(task, report)

    def over(self, task: KeptTask, end: TaskEnd) -> None:
        self.leaves_room(task)
        self._report(task, TaskEnded(task.ref, now_ms(), end))

    def settle(self, refs: Sequence[TaskRef]) -> None:
        settled = [ref for ref in refs if (task := self._tasks.get(ref)) and task.over is not None]
        for ref in settled:
            self._lanes.settles(self._tasks.pop(ref).start.lane, ref)
        if settled:
            self._journal.add(journal.Settled(tuple(settled)))

    def all_reports(self) -> list[TaskReport]:
        """Of all that isn't settled, for somebody who has just come."""
        return [report for task in self._tasks.values() for report in task.reports()]

    def entries(self) -> Iterator[journal.Entry]:
        """All that a later keeper needs to know."""
        for task in self._tasks.values():
            yield from task.entries()

    def _give_back(self, task: KeptTask) -> None:
        task.holds_room = False
        self._report(task, TaskReturned(task.ref, now_ms()))

    def _report(self, task: KeptTask, report: TaskEnded | TaskReturned) -> None:
        task.stage, task.over = Stage.OVER, report
        self._journal.add(journal.Over(report, task.started, task.start.lane))
        self._send(task, report)

    def _send(self, task: KeptTask, report: TaskReport) -> None:
        # As long as others stand by, its room isn't empty, whether the server knows of its end or not.
        self.outbox.add(report, may_wait=self._lanes.are_waiting(task.start.lane))
