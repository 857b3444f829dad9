"""From a journal to what is left to do of it."""

from __future__ import annotations

from collections.abc import Iterable

from rota.backends.backend import TaskEnded, TaskRef, TaskReturned, TaskStart, TaskStarted
from rota.backends.process.keeper.recovery import journal
from rota.backends.process.keeper.task import KeptTask
from rota.lifecycle.state import EndReason


class Remembered:
    """A task that isn't settled."""

    def __init__(self, start: TaskStart, boot_id: str) -> None:
        self.start = start
        self.boot_id = boot_id
        self.was_tried = False
        self.began: journal.Began | None = None
        self.time_limit_ms: int | None = None
        self.told_to: EndReason | None = None
        self.has_input = False

    def as_task(self) -> KeptTask:
        task = KeptTask(self.start, self.boot_id)
        task.told_to = self.told_to
        task.has_input = self.has_input
        if self.time_limit_ms is not None:
            task.time_limit_ms, task.limit_changed = self.time_limit_ms, True
        return task


class Finished:
    """A task of which only the reports are left."""

    def __init__(self, entry: journal.Over) -> None:
        self.report: TaskEnded | TaskReturned = entry.report
        self.started: TaskStarted | None = entry.started
        self.lane = entry.lane

    def as_task(self) -> KeptTask:
        return KeptTask.finished(self.report, self.started, self.lane)


def remember(entries: Iterable[journal.Entry]) -> tuple[list[Remembered], list[Finished]]:  # noqa: C901, PLR0912 – one case for each kind of entry
    unfinished: dict[TaskRef, Remembered] = {}
    finished: dict[TaskRef, Finished] = {}
    for entry in entries:
        match entry:
            case journal.Told(start, boot_id):
                unfinished[start.ref] = Remembered(start, boot_id)
            case journal.Trying(refs):
                for ref in refs:
                    if task := unfinished.get(ref):
                        task.was_tried = True
            case journal.Began(ref):
                if task := unfinished.get(ref):
                    task.began = entry
            case journal.LimitChanged(ref, time_limit_ms):
                if task := unfinished.get(ref):
                    task.time_limit_ms = time_limit_ms
            case journal.InputOver(ref):
                if task := unfinished.get(ref):
                    task.has_input = True
            case journal.StopAsked(ref, why):
                if task := unfinished.get(ref):
                    task.told_to = why
            case journal.Over(report):
                unfinished.pop(report.ref, None)
                finished[report.ref] = Finished(entry)
            case journal.Settled(refs):
                for ref in refs:
                    unfinished.pop(ref, None)
                    finished.pop(ref, None)
    return list(unfinished.values()), list(finished.values())
