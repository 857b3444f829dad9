"""A job: one or more tasks with one owner, one priority and one fate."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from rota.model.ids import JobId, Labels, NodeName, QueueName, TaskName
from rota.model.task import TaskSpec


class Priority(int, Enum):
    """The five classes. Any whole number between them is a priority too (Kubernetes has such);
    `MEDIUM` is 0 because that is what a pod without a priority class has."""

    BATCH = -2000
    LOW = -1000
    MEDIUM = 0
    HIGH = 1000
    CRITICAL = 1_000_000_000


class TaskGroup(Struct, frozen=True, cache_hash=True):
    """Tasks of a job that ask for the same."""

    spec: TaskSpec
    count: int = 1


class Percent(Struct, frozen=True, cache_hash=True):
    value: int


class TopologyMode(Enum):
    SAME = "same"
    DIFFERENT = "different"
    COUNT = "count"


class TopologyRule(Struct, frozen=True, cache_hash=True):
    """How the tasks of one job lie to each other: in one domain, each in another, in `count`."""

    key: str
    mode: TopologyMode
    count: int = 0


class AtMaintenance(Enum):
    """What becomes of a job that still runs when a maintenance window begins."""

    REQUEUE = "requeue"
    END = "end"


class ArrayLimit(Struct, frozen=True, cache_hash=True):
    """How many jobs of an array may run at once. Its number tells it from other arrays of equal jobs."""

    array: str
    at_once: int


class JobTemplate(Struct, frozen=True, cache_hash=True, omit_defaults=True, dict=True):
    """All that jobs of one kind have in common, and all that the engine decides by."""

    groups: tuple[TaskGroup, ...]
    min_available: int | Percent | None = None
    """How many tasks must start together; None: all of them."""
    namespace: str = "default"
    project: str = "default"
    user: str = "default"
    queue: QueueName = QueueName("default")
    scheduler: str = ""
    labels: Labels = ()
    priority: int = Priority.MEDIUM
    may_preempt: bool | None = None
    """None: by its class, from Medium up."""
    preemptible: bool = True
    topology: tuple[TopologyRule, ...] = ()
    time_limit_ms: int | None = None
    max_cost_micro: int | None = None
    """The most that the whole job may cost until its time limit."""
    connect_to: str = ""
    reservation: str = ""
    """The reservation to run in; empty: in none."""
    start_within_ms: int | None = None
    """Fails if it hasn't started so long after it was submitted."""
    at_maintenance: AtMaintenance = AtMaintenance.REQUEUE
    array_limit: ArrayLimit | None = None

    @property
    def task_count(self) -> int:
        return sum(group.count for group in self.groups)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Of each group, the first rank behind it."""
        return tuple(accumulate(group.count for group in self.groups))

    def group_of(self, rank: int) -> int:
        """The number of the group that the task with this rank is of."""
        group = bisect_right(self._ends, rank)
        if rank < 0 or group == len(self.groups):
            raise IndexError(f"no task has the rank {rank}")
        return group

    def spec_of(self, rank: int) -> TaskSpec:
        return self.groups[self.group_of(rank)].spec

    @property
    def min_count(self) -> int:
        """`min_available` as a number of tasks; percentages round up, as Kubernetes does."""
        match self.min_available:
            case None:
                return self.task_count
            case Percent(value):
                return max(1, -(-self.task_count * value // 100))
            case count:
                return count


class Job(Struct, frozen=True, omit_defaults=True):
    id: JobId
    template: JobTemplate
    submitted_ms: int = 0
    retries: int = 0
    preempted_by: tuple[JobId, ...] = ()
    """Who evicted it before: it never evicts one of these in turn."""
    task_names: tuple[TaskName, ...] = ()
    """Names given from outside (pods have their own); empty: made from the id and the rank."""
    start_after_ms: int = 0
    start_before_ms: int | None = None
    """The period in which it is to start, as its user stated."""
    tasks_are_jobs: bool = False
    """A gang of pods: users know each task by its own name and ask for it as a job."""
    number: int = 0
    """Of jobs that came in at the same moment, the lower one was first."""

    @property
    def has_period(self) -> bool:
        return bool(self.start_after_ms) or not (
            self.start_before_ms is self.template.start_within_ms is None
        )

    def task_name(self, rank: int) -> TaskName:
        return self.task_names[rank] if self.task_names else TaskName(f"{self.id}/{rank}")

    def group_of(self, rank: int) -> int:
        try:
            return self.template.group_of(rank)
        except IndexError:
            raise IndexError(f"job {self.id} has no task of rank {rank}") from None


class Placement(Struct, frozen=True, omit_defaults=True):
    """Where one task runs, and since when."""

    rank: int
    node: NodeName
    started_ms: int = 0
    gpu_devices: tuple[int, ...] = ()


class Promise(Struct, frozen=True, omit_defaults=True):
    """A start that the user of a waiting job was told: when, where, and on which devices."""

    start_ms: int
    placements: tuple[Placement, ...]


class JobRecord(Struct, frozen=True, omit_defaults=True):
    """A job and those of its tasks that run. Tasks that neither run nor are done wait."""

    job: Job
    placements: tuple[Placement, ...] = ()
    done: tuple[int, ...] = ()
    """Ranks that have ended and are not to run again."""
    promise: Promise | None = None

    def waiting_ranks(self) -> Iterator[int]:
        busy = {placement.rank for placement in self.placements}.union(self.done)
        return (rank for rank in range(self.job.template.task_count) if rank not in busy)
