"""What a backend is: somewhere that tasks run.

    start, stop, change_limit ──► backend ──► reports: started, ended, returned
                                   nodes       (in batches, at least once, until the fence is settled)

All calls may come twice, and after a restart of either side: a backend knows its tasks by job, rank
and fence, and starts none again that it has seen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import Enum
from typing import Protocol, TypeAlias

from msgspec import Struct

from rota.lifecycle.state import TaskEnd
from rota.model.ids import JobId, Labels, NodeName
from rota.model.node import Node
from rota.model.resources import Resources
from rota.model.run import Run


class TaskRef(Struct, frozen=True, cache_hash=True, array_like=True):
    job: JobId
    rank: int
    fence: int


class TaskStart(Struct, frozen=True, omit_defaults=True):
    ref: TaskRef
    node: NodeName
    run: Run
    environment: Labels = ()
    """On top of that of `run`: rank, peers, devices. Made by `dispatch`."""
    secrets: Labels = ()
    """Variables with their values. They are never written down, and masked in the task's output."""
    hosts: tuple[NodeName, ...] = ()
    """Of all tasks of the job, by rank: the host file."""
    limits: Resources = Resources()
    """What it may use at most, where the host can hold it to that; 0: no limit."""
    requests: Resources = Resources()
    """What it was given room for."""
    gpus: int = 0
    """Whole devices of that."""
    cpu_share_milli: int = 0
    """What it asked for, and gets where the cpus are too few for all; 0: as if it were one cpu."""
    log_bytes: int | None = None
    """So much of its output is kept, and what comes after that dropped; None: as much as the host keeps."""
    time_limit_ms: int | None = None
    """From its start."""
    end_before_ms: int | None = None
    """It is ended then at the latest, as by its time limit."""
    lane: str = ""
    """Tasks with the same lane are equal in what they take."""
    standby: bool = False
    """Starts as soon as a task of its lane has ended on this node."""
    user: str = ""
    project: str = ""
    """Whose it is: by these a host chooses the account that it runs as."""


class TaskStarted(Struct, frozen=True, tag="started", omit_defaults=True):
    ref: TaskRef
    at_ms: int


class TaskEnded(Struct, frozen=True, tag="ended", omit_defaults=True):
    """Of a task that has run, or that couldn't be started."""

    ref: TaskRef
    at_ms: int
    end: TaskEnd


class TaskReturned(Struct, frozen=True, tag="returned", omit_defaults=True):
    """A task on standby that was told to stop before it started, or whose lane has nobody left to
    wait for."""

    ref: TaskRef
    at_ms: int


TaskReport: TypeAlias = TaskStarted | TaskEnded | TaskReturned


class Health(Struct, frozen=True, omit_defaults=True):
    healthy: bool
    message: str = ""
    """What is wrong, or what the host can't do (limits without cgroups, say)."""
    of_nodes: tuple[tuple[NodeName, str], ...] = ()
    """What there is to say of some of its nodes."""


class Stream(Enum):
    OUT = "out"
    ERR = "err"


class LogChunk(Struct, frozen=True, array_like=True):
    """Bytes as the task wrote them, with the time at which they were read."""

    rank: int
    stream: Stream
    at_ms: int
    data: bytes
    fence: int = 0
    dropped_bytes: int = 0
    """Of the task's output right before these: there was no more room to keep them."""


class LogQuery(Struct, frozen=True, omit_defaults=True):
    job: JobId
    epoch: int = 0
    """In which the job came in: what is older was written by another job of that number."""
    ranks: tuple[int, ...] | None = None
    """None: all of them."""
    since_ms: int = 0
    follow: bool = False
    """Goes on until the job's tasks have ended."""
    tail_bytes: int | None = None


class InputPiece(Struct, frozen=True, array_like=True, omit_defaults=True):
    """Of what a task is to read."""

    offset_bytes: int
    """How much came before it: one that comes again is recognised by this."""
    data: bytes = b""
    """None: whoever sends it is still there."""
    ends: bool = False
    """Nothing comes after it."""
    window: tuple[int, int] | None = None
    """Of the terminal, from now on: rows and columns."""


class Fed(Struct, frozen=True, array_like=True):
    taken_bytes: int
    """Of all that the task is to read."""
    is_open: bool = True
    """False: no more is taken. It was ended, or nobody reads it."""


class KeptFile(Struct, frozen=True, order=True):
    """One that a task left, as its run declared."""

    rank: int
    path: str
    size_bytes: int
    executable: bool


class BackendUnavailable(Exception):
    """What was asked for may or may not have happened: ask again. The text says what to do about it."""


class Backend(Protocol):
    name: str

    async def open(self) -> None:
        """Connects, and finds again what runs."""

    async def close(self) -> None:
        """What runs goes on."""

    async def nodes(self) -> Sequence[Node]: ...

    async def node(self, name: NodeName) -> Node | None: ...

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        """The first that is asked of it once it is open: all tasks that should be on its nodes, or on nodes
        that nobody shows at the moment. Tells which of them it has, or may have: of these it reports whatever
        becomes of them, also if they turn out to be gone. What it has besides is stopped."""

    async def start(self, tasks: Sequence[TaskStart]) -> None:
        """What can't be started is no error: it is reported as ended, with the reason."""

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        """With the grace of its run between SIGTERM and SIGKILL. Each ends with a report, whoever asks waits
        for it: one that the backend doesn't know is reported as lost."""

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        """Nothing happens to one that has ended, or that it doesn't know."""

    async def feed(self, task: TaskRef, piece: InputPiece) -> Fed:
        """Input of a task that runs. Waits until it is taken, as long as the task reads no more; it may be
        given up and sent again. What is taken isn't lost when either side is restarted."""

    async def running(self) -> Sequence[TaskRef]:
        """All that it was told to start and hasn't reported as ended, or whose report wasn't settled."""

    def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        """Again after a reconnection: those that weren't settled."""

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        """Their ends are recorded: they may be forgotten. Those that haven't ended are not."""

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]: ...

    def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        """A file that a task left, as its run declared; raises FileNotFoundError. `epoch`: in which the job
        came in."""

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        """In bytes, of all that is kept of what each of them wrote and left; 0: nothing is."""

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        """All files that its tasks left, by rank and path."""

    async def forget(self, jobs: Sequence[JobId]) -> None:
        """Removes logs and whatever else is left of them."""

    async def health(self) -> Health: ...
