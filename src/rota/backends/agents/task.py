"""What the server wants of one task of an agent, and what it knows of it."""

from __future__ import annotations

import asyncio

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart, TaskStarted
from rota.model.ids import NodeName


class TaskStream:
    """One call of Perform."""

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        self.is_closed = False
        """Another one has taken its place, or its agent isn't heard of any more."""
        self.finished = asyncio.Event()
        """Nothing is written any more of what came by it."""

    def close(self) -> None:
        self.is_closed = True
        self.wake.set()


class AgentTask:
    def __init__(self, ref: TaskRef, node: NodeName) -> None:
        self.ref = ref
        self.node = node
        self.start: TaskStart | None = None
        """None: of a time before this server; the agent has it, or it is gone."""
        self.is_to_stop = False
        self.new_limit_ms: int | None = None
        self.started: TaskStarted | None = None
        self.over: TaskEnded | TaskReturned | None = None
        self.settled = asyncio.Event()
        self.server_ahead_ms: int | None = None
        """By the agent's clock when it first said something of this task: all its times are moved alike."""
        self.stream: TaskStream | None = None
        """By which the agent says and hears what is new of it."""

    def wake(self) -> None:
        """Something of what is wanted has changed."""
        if self.stream is not None:
            self.stream.wake.set()

    @property
    def is_wanted(self) -> bool:
        """False: it was told to be over, so nobody may be running it."""
        return self.over is None

    def is_lost_without(self) -> bool:
        """Should the agent turn out not to have it. Otherwise it hasn't begun, and is offered again."""
        return self.over is None and (self.start is None or self.started is not None)

    def takes(self, report: TaskReport) -> bool:
        """False: that was told before, or comes too late."""
        if self.over is not None:
            return False
        match report:
            case TaskStarted():
                is_news = self.started is None
                self.started = self.started or report
                return is_news
            case TaskEnded() | TaskReturned():
                self.over = report
                return True
