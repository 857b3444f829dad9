"""Reports on their way to the server: those that somebody waits for at once, the others some at a time.

Each frame costs the server a transaction and the keeper a turn of its loop. Where the next task has started
already, in the room that one has left, nothing depends on the report of it for a moment.
"""

from __future__ import annotations

from rota.backends.backend import TaskReport
from rota.clock import since_boot_ms

HOLD_MS = 50
"""Well below the time that tasks on standby last: the server is to hand on more of them before that."""


class Outbox:
    def __init__(self) -> None:
        self._reports: list[TaskReport] = []
        self._due_ms: int | None = None

    @property
    def due_ms(self) -> int | None:
        """On the clock since boot; None: there is nothing to send."""
        return self._due_ms

    def add(self, report: TaskReport, *, may_wait: bool) -> None:
        """One that may not wait takes all others with it: they arrive in the order of what happened."""
        self._reports.append(report)
        if not may_wait:
            self._due_ms = 0
        elif self._due_ms is None:
            self._due_ms = since_boot_ms() + HOLD_MS

    def take_due(self) -> list[TaskReport]:
        if self._due_ms is None or self._due_ms > since_boot_ms():
            return []
        return self.take_all()

    def take_all(self) -> list[TaskReport]:
        reports, self._reports = self._reports, []
        self._due_ms = None
        return reports
