"""What the keeper knows of one task."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Self

from msgspec.structs import replace

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart, TaskStarted
from rota.backends.process.keeper.cgroups.groups import Group
from rota.backends.process.keeper.files.rooms import Room
from rota.backends.process.keeper.processes.kernel import Aside
from rota.backends.process.keeper.recovery import journal
from rota.backends.process.keeper.streams.log_writer import Drain
from rota.clock import now_ms, since_boot_ms
from rota.launch.account import Account
from rota.lifecycle.state import EndReason, Used
from rota.model.ids import NodeName
from rota.model.run import Run


class Stage(Enum):
    WAITING = "waiting"
    """To start, or on standby."""
    STAGING = "staging"
    """Its input files are being put in place."""
    STARTING = "starting"
    """It has a process, which doesn't execute its program yet."""
    RUNNING = "running"
    CLEARING = "clearing"
    """Its first process has ended; the rest of them are being killed."""
    COLLECTING = "collecting"
    """What it leaves is being kept."""
    OVER = "over"


def without_secrets(start: TaskStart) -> TaskStart:
    """As it may be written down."""
    return replace(start, secrets=()) if start.secrets else start


class KeptTask:
    def __init__(self, start: TaskStart, boot_id: str = "") -> None:
        """`boot_id`: when it was told."""
        self.start = start
        self.boot_id = boot_id
        self.stage = Stage.WAITING
        self.is_staged = False
        self.account: Account | None = None
        """As whom it runs; None: as the keeper."""
        self.room: Room | None = None
        self.group: Group | None = None
        self.aside: Aside | None = None
        self.drain: Drain | None = None
        self.word: int | None = None
        """Of a task that is starting: what its process has to say of it."""
        self.start_by_ms: int | None = None
        """Until then its program must be executed."""
        self.unstarted = ""
        """Why it couldn't be, if it couldn't."""
        self.began: journal.Began | None = None
        self.is_adopted = False
        """Another keeper started it: it isn't a child of this one."""
        self.pidfd: int | None = None
        """Of an adopted task, unless it had ended when it was adopted."""
        self.time_limit_ms = start.time_limit_ms
        self.limit_changed = False
        self.told_to: EndReason | None = None
        """Why it is being ended, once it is."""
        self.cut_off = ""
        """Why it can't go on, whatever it does: its input went with another keeper."""
        self.has_input = False
        """All that it will get to read."""
        self.told_why = ""
        """More about that."""
        self.kill_at_ms: int | None = None
        self.was_warned = False
        self.holds_room = True
        """Nobody of its lane may start in its place yet."""
        self.status: int | None = None
        self.unseen_until_ms = 0
        """Of an adopted task: so long the kernel is asked how it ended."""
        self.used = Used()
        self.started: TaskStarted | None = None
        self.over: TaskEnded | TaskReturned | None = None

    @classmethod
    def finished(
        cls, report: TaskEnded | TaskReturned, started: TaskStarted | None = None, lane: str = ""
    ) -> Self:
        """One of which only the reports are left: what it was to run doesn't matter any more."""
        task = cls(TaskStart(report.ref, NodeName(""), Run(), lane=lane))
        task.stage, task.holds_room = Stage.OVER, False
        task.started, task.over = started, report
        return task

    @property
    def ref(self) -> TaskRef:
        return self.start.ref

    def let_go(self) -> None:
        """Closes what is open for it; it goes on."""
        # One that has just ended may be closed in part.
        with suppress(OSError):
            if self.pidfd is not None:
                os.close(self.pidfd)
        with suppress(OSError):
            if self.drain is not None:
                self.drain.close()

    @property
    def lacks_secrets(self) -> bool:
        """It was told to another keeper, which took its secrets along."""
        return bool(self.start.run.secrets) and not self.start.secrets

    @property
    def is_ready(self) -> bool:
        """Nothing has to be staged first."""
        return self.is_staged or not self.start.run.files

    @property
    def limit_at_ms(self) -> int | None:
        """When its time is up, on the clock since boot."""
        if self.began is None:
            return None
        ends = []
        if self.time_limit_ms is not None:
            ends.append(self.began.since_boot_ms + self.time_limit_ms)
        if self.start.end_before_ms is not None:
            ends.append(since_boot_ms() + self.start.end_before_ms - now_ms())
        return min(ends, default=None)

    @property
    def warn_at_ms(self) -> int | None:
        limit_at_ms, before_ms = self.limit_at_ms, self.start.run.warn_before_ms
        return limit_at_ms - before_ms if limit_at_ms is not None and before_ms > 0 else None

    @property
    def due_ms(self) -> int | None:
        """When something has to be done about its limits."""
        if self.stage not in (Stage.STARTING, Stage.RUNNING):
            return None
        if self.told_to is not None:
            return self.kill_at_ms
        if self.stage is Stage.STARTING:
            dues = (self.start_by_ms, self.limit_at_ms)
            return min((due for due in dues if due is not None), default=None)
        return self.limit_at_ms if self.was_warned or self.warn_at_ms is None else self.warn_at_ms

    @property
    def warn_signal(self) -> signal.Signals:
        return signal.Signals[self.start.run.warn_signal]

    def has_started(self) -> None:
        assert self.began is not None
        self.started = TaskStarted(self.ref, self.began.at_ms)

    def reports(self) -> Iterator[TaskReport]:
        if self.started is not None:
            yield self.started
        if self.over is not None:
            yield self.over

    def entries(self) -> Iterator[journal.Entry]:
        """All that a later keeper needs to know of it."""
        if self.over is not None:
            yield journal.Over(self.over, self.started, self.start.lane)
            return
        yield journal.Told(without_secrets(self.start), self.boot_id)
        if self.began is not None:
            yield self.began
        if self.has_input:
            yield journal.InputOver(self.ref)
        if self.limit_changed and self.time_limit_ms is not None:
            yield journal.LimitChanged(self.ref, self.time_limit_ms)
        if self.told_to is not None:
            yield journal.StopAsked(self.ref, self.told_to)
