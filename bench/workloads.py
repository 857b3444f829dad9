"""Clusters and jobs of the engine's benchmarks, made from a seed."""

from __future__ import annotations

from random import Random

from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement, Priority, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.resources import Resources
from rota.model.selectors import Operator, Requirement, Selector
from rota.model.taints import Effect, Taint, Toleration
from rota.model.task import JobAffinity, Spread, TaskSpec
from rota.snapshot import ClusterState

GIB = 1 << 30
NODE = Resources(cpu_milli=64_000, memory_bytes=256 * GIB, slots=110)
TASK = Resources(cpu_milli=1000, memory_bytes=4 * GIB)

_WEB = Selector((Requirement("app", Operator.IN, ("web",)),))
_WEB_LABELS = (("app", "web"),)


def nodes(count: int) -> list[Node]:
    """A tenth tainted, half with fast disks, in three zones."""
    taint = Taint("dedicated", Effect.NO_SCHEDULE)
    return [
        Node(
            NodeName(f"node-{number:05d}"),
            NodeSpec(
                NODE,
                labels=(("disk", "ssd" if number % 2 else "hdd"), ("zone", f"zone-{number % 3}")),
                taints=(taint,) if number % 10 == 0 else (),
            ),
        )
        for number in range(count)
    ]


def state_with(cluster: list[Node], jobs: list[Job]) -> ClusterState:
    state = ClusterState()
    for node in cluster:
        state.set_node(node)
    for job in jobs:
        state.set_job(JobRecord(job))
    return state


def jobs_of(template: JobTemplate, count: int) -> list[Job]:
    return [Job(JobId(f"job-{number}"), template, number) for number in range(count)]


def equal_jobs(count: int) -> list[Job]:
    return jobs_of(JobTemplate((TaskGroup(TaskSpec(TASK)),)), count)


def one_wide_job(count: int) -> list[Job]:
    return jobs_of(JobTemplate((TaskGroup(TaskSpec(TASK), count),)), 1)


def shapes(count: int, seed: int = 1) -> list[JobTemplate]:
    """Different requests; every third wants a fast disk, every fourth bears the taint."""
    random = Random(seed)
    found = []
    for number in range(count):
        spec = TaskSpec(
            Resources(random.randint(1, 20) * 100, random.randint(1, 20) * GIB // 4),
            node_selector=(("disk", "ssd"),) if number % 3 == 0 else (),
            tolerations=(Toleration("dedicated", exists=True),) if number % 4 == 0 else (),
        )
        found.append(JobTemplate((TaskGroup(spec),)))
    return found


def mixed_jobs(count: int, shape_count: int = 200, seed: int = 2) -> list[Job]:
    random = Random(seed)
    kinds = shapes(shape_count)
    return [Job(JobId(f"job-{number}"), random.choice(kinds), number) for number in range(count)]


def requests_of(jobs: list[Job]) -> list[tuple[int, int]]:
    return [
        (group.spec.requests.cpu_milli, group.spec.requests.memory_bytes)
        for job in jobs
        for group in job.template.groups
        for _ in range(group.count)
    ]


def apart_by_host(count: int) -> list[Job]:
    spec = TaskSpec(
        TASK,
        labels=_WEB_LABELS,
        job_affinity=(JobAffinity("host", _WEB, anti=True),),
        tolerations=(Toleration("dedicated", exists=True),),
    )
    return jobs_of(JobTemplate((TaskGroup(spec),)), count)


def near_by_zone(count: int) -> list[Job]:
    spec = TaskSpec(TASK, labels=_WEB_LABELS, job_affinity=(JobAffinity("zone", _WEB, weight=100),))
    return jobs_of(JobTemplate((TaskGroup(spec),)), count)


def spread_by_zone(count: int) -> list[Job]:
    spec = TaskSpec(TASK, labels=_WEB_LABELS, spread=(Spread("zone", 1, _WEB),))
    return jobs_of(JobTemplate((TaskGroup(spec),)), count)


GANG = JobTemplate(
    (TaskGroup(TaskSpec(Resources(cpu_milli=6000, memory_bytes=24 * GIB)), 512),), priority=Priority.HIGH
)
_FILLER = JobTemplate(
    (TaskGroup(TaskSpec(Resources(cpu_milli=6400, memory_bytes=25 * GIB))),), priority=Priority.LOW
)


def plain_nodes(count: int) -> list[Node]:
    return [Node(NodeName(f"node-{number:05d}"), NodeSpec(NODE)) for number in range(count)]


def full_cluster(cluster: list[Node], running: int) -> ClusterState:
    """Every node filled with low-priority tasks, and a gang that waits."""
    state = state_with(cluster, jobs_of(GANG, 1))
    for number in range(running):
        placement = Placement(0, cluster[number % len(cluster)].name, started_ms=number)
        state.set_job(JobRecord(Job(JobId(f"filler-{number}"), _FILLER), (placement,)))
    return state
