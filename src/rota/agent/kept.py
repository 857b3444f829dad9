"""One task, as the agent knows it from the keeper's reports."""

from __future__ import annotations

import asyncio

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStarted


class Kept:
    def __init__(self, ref: TaskRef) -> None:
        self.ref = ref
        self.started: TaskStarted | None = None
        self.over: TaskEnded | TaskReturned | None = None
        self.news = asyncio.Event()
        self.files: frozenset[str] = frozenset()
        """Hashes of those that it needs to start."""

    def takes(self, report: TaskReport) -> None:
        if isinstance(report, TaskStarted):
            self.started = report
        else:
            self.over = report
        self.news.set()
