"""A cluster as plain lists and dicts: what the reference implementation looks at.

Slow and obvious on purpose. It shares nothing with the engine but the model, so that the two
can disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from rota.model.cluster import ClusterRecords
from rota.model.ids import NodeName
from rota.model.job import Job, JobRecord
from rota.model.node import Node
from rota.model.policy import Defaults, PlatformDefaults, Policy
from rota.model.resources import DEFAULT_SLOTS, WHOLE_GPU_MILLI, Resources
from rota.model.task import TaskSpec


@dataclass(frozen=True)
class Task:
    """A task and the node it is on."""

    job: Job
    rank: int
    node: str
    devices: tuple[int, ...] = ()
    started_ms: int = 0

    @property
    def spec(self) -> TaskSpec:
        return self.job.template.groups[self.job.group_of(self.rank)].spec


class World:
    """Nodes, those that offers could start among them, and the tasks on them."""

    def __init__(self, nodes: Iterable[Node], offered: Iterable[str], tasks: Iterable[Task]) -> None:
        self.nodes = {str(node.name): node for node in nodes}
        self.offered = frozenset(offered)
        self._on: dict[str, list[Task]] = {name: [] for name in self.nodes}
        for task in tasks:
            self.put(task)

    def put(self, task: Task) -> None:
        self._on[task.node].append(task)

    def lift(self, task: Task) -> None:
        self._on[task.node].remove(task)

    def on(self, node: Node) -> list[Task]:
        return self._on[node.name]

    def tasks(self) -> Iterator[Task]:
        return (task for tasks in self._on.values() for task in tasks)

    def of(self, job: str) -> list[Task]:
        return [task for task in self.tasks() if task.job.id == job]

    def copy(self) -> World:
        return World(self.nodes.values(), self.offered, self.tasks())

    def idle(self) -> World:
        """The same nodes with nothing on them, and everything that will pass gone."""
        nodes = [
            replace(
                node,
                ready=True,
                cordoned=False,
                memory_others_bytes=0,
                spec=replace(
                    node.spec, taints=tuple(taint for taint in node.spec.taints if not taint.is_passing)
                ),
            )
            for node in self.nodes.values()
        ]
        return World(nodes, self.offered, ())


def world_of(records: ClusterRecords, defaults: Defaults) -> World:
    jobs = [admitted(record, defaults) for record in records.jobs]
    waiting = sum(len(list(record.waiting_ranks())) for record in jobs)
    startable = [
        # An offer opens no more nodes than there are tasks to put on them.
        Node(NodeName(f"{offer.name}#{number}"), offer.spec)
        for offer in records.offers
        for number in range(min(offer.limit, waiting))
    ]
    tasks = [
        Task(record.job, placement.rank, placement.node, placement.gpu_devices, placement.started_ms)
        for record in jobs
        for placement in record.placements
    ]
    return World((*records.nodes, *startable), (node.name for node in startable), tasks)


def admitted(record: JobRecord, defaults: Defaults) -> JobRecord:
    """With what its platform and runtime add."""
    template = record.job.template
    groups = tuple(replace(group, spec=_admitted(group.spec, defaults)) for group in template.groups)
    return replace(record, job=replace(record.job, template=replace(template, groups=groups)))


def _admitted(spec: TaskSpec, defaults: Defaults) -> TaskSpec:
    platform = dict(defaults.platforms).get(spec.platform, PlatformDefaults())
    runtime = dict(defaults.runtimes).get(spec.runtime, Resources())
    requests = _first_given(spec.requests, spec.limits, platform.requests)
    overhead = runtime if spec.overhead == Resources() else spec.overhead
    return replace(spec, requests=requests, overhead=overhead)


def _first_given(*choices: Resources) -> Resources:
    names = sorted({name for one in choices for name, _ in one.extended})
    return Resources(
        next((one.cpu_milli for one in choices if one.cpu_milli), 0),
        next((one.memory_bytes for one in choices if one.memory_bytes), 0),
        next((one.storage_bytes for one in choices if one.storage_bytes), 0),
        next((one.slots for one in choices if one.slots), 0),
        tuple(
            (name, next(dict(one.extended)[name] for one in choices if name in dict(one.extended)))
            for name in names
        ),
    )


def amounts(spec: TaskSpec) -> dict[str, int]:
    """What a task takes, by name; GPUs in thousandths."""
    taken = _named(spec.requests.plus(spec.overhead))
    taken["slots"] = max(1, taken["slots"])
    taken["gpu"] = spec.gpu.total_milli
    return {name: amount for name, amount in taken.items() if amount}


def capacity(node: Node) -> dict[str, int]:
    has = _named(node.spec.capacity)
    has["slots"] = has["slots"] or DEFAULT_SLOTS
    has["gpu"] = node.spec.gpus.count * WHOLE_GPU_MILLI
    return has


def _named(resources: Resources) -> dict[str, int]:
    return {
        "cpu": resources.cpu_milli,
        "memory": resources.memory_bytes,
        "storage": resources.storage_bytes,
        "slots": resources.slots,
        **dict(resources.extended),
    }


def free(world: World, node: Node) -> dict[str, int]:
    left = capacity(node)
    left["memory"] -= node.memory_others_bytes
    for task in world.on(node):
        for name, amount in amounts(task.spec).items():
            left[name] = left.get(name, 0) - amount
    return left


def free_devices(world: World, node: Node) -> list[int]:
    """What is left of each GPU, in thousandths."""
    left = [WHOLE_GPU_MILLI] * node.spec.gpus.count
    for task in world.on(node):
        for device in task.devices:
            left[device] -= task.spec.gpu.share_milli
    return left


def label(node: Node, key: str) -> str | None:
    return dict(node.spec.labels).get(key)


def domain(node: Node, key: str) -> str | None:
    """Which part of the cluster it is in, by a topology key; some keys have a second name."""
    value = label(node, key)
    if value is None and key in ("zone", "region"):
        value = label(node, f"topology.kubernetes.io/{key}")
    if value is None and key in ("host", "kubernetes.io/hostname"):
        value = node.name
    return value


def jobs_of(records: ClusterRecords, policy: Policy) -> dict[str, JobRecord]:
    return {record.job.id: admitted(record, policy.defaults) for record in records.jobs}
