"""A job as it stands: what all its events have led to."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from rota.model.causes import Cause
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement, Promise
from rota.model.run import Dependency, JobSpec


class Phase(Enum):
    CREATED = "created"
    """Accepted; held, or waiting for other jobs to end."""
    PENDING = "pending"
    """Waits for room."""
    SCHEDULED = "scheduled"
    """Has room; none of its tasks has started yet."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed-out"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset((Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED, Phase.TIMED_OUT))


class TaskPhase(Enum):
    BOUND = "bound"
    STANDBY = "standby"
    """Handed to a node to start there as soon as an equal task of it ends."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Told to stop. It holds its room until it has, unless it was evicted."""


class LiveTask(Struct, frozen=True, omit_defaults=True):
    """A task that has a node. Reports of it count only with its fence."""

    rank: int
    fence: int
    node: NodeName
    phase: TaskPhase
    bound_ms: int
    started_ms: int | None = None
    gpu_devices: tuple[int, ...] = ()
    evicted: bool = False
    """Stopping since it was evicted: its room is somebody else's already, who starts once it has stopped."""

    roomless: bool = False
    """It was handed to its node to stand by, and nobody is known to have left it a room. It may run all the
    same: in that of one whose end will be heard of later."""

    @property
    def has_room(self) -> bool:
        """Of its own."""
        return not self.roomless and not self.evicted

    @property
    def holds_room(self) -> bool:
        """Nobody else may be given it. Of one that stops before it had any, it isn't known whose it may have
        taken just before."""
        return self.has_room or (self.phase is TaskPhase.STOPPING and not self.evicted)

    @property
    def since_ms(self) -> int:
        """When it took its room, or started."""
        return self.bound_ms if self.started_ms is None else self.started_ms


class EndReason(Enum):
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIME_LIMIT = "time-limit"
    OUT_OF_MEMORY = "out-of-memory"
    STORAGE_LIMIT = "storage-limit"
    """Its files took more of the disk than it may; `message` says how much that is."""
    STAGING = "staging"
    """Its input files couldn't be put in place; `message` says which and why."""
    NOT_STARTED = "not-started"
    """It couldn't be executed; `message` says why."""
    STOPPED = "stopped"
    """Since it was told to."""
    LOST = "lost"
    """Its node is gone, or nobody knows how it ended."""


class Used(Struct, frozen=True, omit_defaults=True):
    """By all processes of a task."""

    cpu_ms: int = 0
    max_memory_bytes: int = 0


class TaskEnd(Struct, frozen=True, omit_defaults=True):
    reason: EndReason
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    used: Used = Used()

    @property
    def succeeded(self) -> bool:
        return self.reason is EndReason.EXITED and self.exit_code == 0


class JobState(Struct, frozen=True, omit_defaults=True):
    id: JobId
    number: int
    """Which of all jobs it was to come in; a higher one came later."""
    spec: JobSpec
    submitted_ms: int
    phase: Phase = Phase.CREATED
    changed_ms: int = 0
    """When it came into its phase."""
    cause: Cause | None = None
    message: str = ""
    held: bool = False
    depends_on: tuple[Dependency, ...] = ()
    """Those that haven't ended yet."""
    live: tuple[LiveTask, ...] = ()
    """By rank."""
    done: tuple[int, ...] = ()
    """Ranks that have ended and are not to run again, in order."""
    failed: tuple[int, ...] = ()
    """Those of them that failed."""
    epoch: int = 0
    """In which it came in: its tasks' fences are of this one or a later one (see `fences`)."""
    fence: int = 0
    """The highest that was given out."""
    attempt: int = 1
    retries: int = 0
    not_before_ms: int = 0
    """Of a retry, after its pause."""
    preempted_by: tuple[JobId, ...] = ()
    promise: Promise | None = None
    time_limit_ms: int | None = None
    """As extended; until then that of the template."""
    started_ms: int | None = None
    """When it first ran."""
    ended_ms: int | None = None
    ending: Phase | None = None
    """It will end in this phase, once its tasks have stopped; None: it goes on."""
    restarting: bool = False
    """All its tasks stop, and then it is pending again."""
    last_end: TaskEnd | None = None
    """Of the task that decided its fate, or of the latest that failed."""

    @property
    def is_over(self) -> bool:
        return self.ended_ms is not None

    @property
    def is_stopping(self) -> bool:
        """All its tasks are told to stop: nothing of it starts before they have."""
        return self.restarting or self.ending is not None

    def task(self, rank: int) -> LiveTask | None:
        return next((task for task in self.live if task.rank == rank), None)

    def job(self) -> Job:
        """As the engine sees it."""
        return Job(
            self.id,
            self._template(),
            submitted_ms=self.submitted_ms,
            number=self.number,
            retries=self.retries,
            preempted_by=self.preempted_by,
            start_after_ms=max(self.spec.start_after_ms, self.not_before_ms),
            start_before_ms=self._start_before_ms(),
        )

    def record(self) -> JobRecord:
        """With what holds room, and what waits for some."""
        placements = tuple(
            Placement(task.rank, task.node, task.since_ms, task.gpu_devices)
            for task in self.live
            if task.holds_room
        )
        return JobRecord(self.job(), placements, self._ranks_not_to_start(), self.promise)

    def _template(self) -> JobTemplate:
        template = self.spec.template
        if self.time_limit_ms != template.time_limit_ms:
            template = replace(template, time_limit_ms=self.time_limit_ms)
        if self.started_ms is not None and template.start_within_ms is not None:
            # It did start in time, whatever came after.
            template = replace(template, start_within_ms=None)
        return template

    def _ranks_not_to_start(self) -> tuple[int, ...]:
        """What neither holds room nor waits for some: ranks that are done, those on standby, those that
        were evicted and haven't stopped yet; and while the whole job stops, all that have."""
        if self.is_stopping:
            holding = {task.rank for task in self.live if task.holds_room}
            return tuple(rank for rank in range(self.spec.template.task_count) if rank not in holding)
        roomless = [task.rank for task in self.live if not task.holds_room]
        return tuple(sorted((*self.done, *roomless))) if roomless else self.done

    def _start_before_ms(self) -> int | None:
        if self.started_ms is not None:
            return None
        before, deadline = self.spec.start_before_ms, self.spec.deadline_ms
        if deadline is None:
            return before
        latest = deadline - (self.time_limit_ms or 0)
        return latest if before is None else min(before, latest)
