"""What the server wants of one task of an agent, and what it knows of it."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from rota.backends.agents.input import TaskInput
from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart, TaskStarted
from rota.model.ids import NodeName


class TaskStream:
    """One call of Perform."""

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        self.is_closed = False
        """Another one has taken its place, or its agent isn't heard of any more."""
        self.is_broken = False
        """The agent is to open another one, and to say all of it again that hasn't come."""
        self.finished = asyncio.Event()
        """Nothing is written any more of what came by it."""

    def close(self) -> None:
        self.is_closed = True
        self.wake.set()

    def break_off(self) -> None:
        self.is_broken = True
        self.close()


class AgentTask:
    def __init__(self, ref: TaskRef, node: NodeName, since_ms: int = 0) -> None:
        self.ref = ref
        self.node = node
        self.start: TaskStart | None = None
        """None: of a time before this server; the agent has it, or it is gone."""
        self.since_ms = since_ms
        """When it was to start: nothing is believed to have happened to it before."""
        self.is_to_stop = False
        self.new_limit_ms: int | None = None
        self.started: TaskStarted | None = None
        self.over: TaskEnded | TaskReturned | None = None
        self.is_told_again = False
        """What was heard of its end counts no more: its agent tells all of it again."""
        self.settled = asyncio.Event()
        self.server_ahead_ms: int | None = None
        """By the agent's clock when it first said something of this task: all its times are moved alike."""
        self.stream: TaskStream | None = None
        """By which the agent says and hears what is new of it."""
        self.input = TaskInput()
        self._output_bytes = 0
        self._output_came = asyncio.Condition()

    async def wrote(self, output_bytes: int) -> None:
        """So much of what it wrote is kept here."""
        async with self._output_came:
            self._output_bytes = output_bytes
            self._output_came.notify_all()

    async def has_written(self, output_bytes: int) -> None:
        async with self._output_came:
            await self._output_came.wait_for(lambda: self._output_bytes >= output_bytes)

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

    def takes(self, report: TaskReport) -> TaskReport | None:
        """As it is to be told: nothing is before its time. None: that was told before, or comes too late."""
        if self.over is not None or (isinstance(report, TaskStarted) and self.started is not None):
            return None
        least_ms = self.since_ms if self.started is None else self.started.at_ms
        report = replace(report, at_ms=max(report.at_ms, least_ms))
        if isinstance(report, TaskStarted):
            self.started = report
        else:
            self.over, self.is_told_again = report, False
            self.input.close()
        return report
