"""What is asked of the cluster and what goes wrong meanwhile: all of it drawn from the seed beforehand, so
that any part can be left out and the rest be tried again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rota.model.ids import NodeName, QueueName
from rota.model.job import JobTemplate, Priority, TaskGroup
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.policy import Policy, QueuePolicy, SchedulerPolicy
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.run import After, JobSpec, OnTaskFailure, Retry, Run
from rota.model.task import TaskSpec
from tests.faults.troubles import (
    FAULTS_S,
    NODES,
    Scenario,
    Trouble,
    agent_crash,
    bad_network,
    clock_jump,
    connection_breaks,
    draw_faults,
    keeper_crash,
    partition,
    some_time_s,
)

QUEUES = (QueueName("default"), QueueName("interactive"))
WORK_S = 15.0
"""In which jobs come in."""
GIB = 1 << 30
ENDLESS_MS = 1_000_000
GRACE_MS = 2_000


def policy() -> Policy:
    interactive = QueuePolicy(QUEUES[1], order=-1, interactive=True)
    return Policy((SchedulerPolicy(queues=(QueuePolicy(), interactive)),))


def nodes(backend: str) -> list[Node]:
    plain = NodeSpec(Resources(cpu_milli=4000, memory_bytes=8 * GIB, slots=8), backend=backend)
    return [
        Node(NODES[0], plain),
        Node(NODES[1], plain),
        Node(NODES[2], replace(plain, gpus=Gpus(2, "simulated"))),
    ]


# -- work


class Submit(Struct, frozen=True, omit_defaults=True):
    at_s: float
    spec: JobSpec
    elements: int = 0
    """Of an array; 0: it is none."""
    waits_for: int | None = None
    """For the job of an earlier item."""
    after: After = After.SUCCESS


class Cancel(Struct, frozen=True):
    at_s: float
    item: int


class Hold(Struct, frozen=True):
    at_s: float
    item: int
    for_s: float


class Extend(Struct, frozen=True):
    at_s: float
    item: int
    time_limit_ms: int


class PauseQueue(Struct, frozen=True):
    at_s: float
    queue: QueueName
    for_s: float


class Drain(Struct, frozen=True):
    at_s: float
    node: NodeName
    for_s: float


Work: TypeAlias = Submit | Cancel | Hold | Extend | PauseQueue | Drain


# -- faults


class ServerCrash(Struct, frozen=True):
    at_s: float
    after_steps: int
    """Between any two steps of its tasks."""
    down_s: float
    power_is_lost: bool
    in_commit: bool
    """Not before something was written; mostly nobody knows of it yet."""


class ServerRestart(Struct, frozen=True):
    """In good order."""

    at_s: float
    down_s: float


class DiskFull(Struct, frozen=True):
    at_s: float
    for_s: float


class DiskSlow(Struct, frozen=True):
    at_s: float
    for_s: float
    longest_s: float


class CommitsInDoubt(Struct, frozen=True):
    at_s: float
    for_s: float
    rate: float
    longest_s: float
    """Of each: connections that break are often slow as well."""


class BackendInDoubt(Struct, frozen=True):
    at_s: float
    for_s: float
    rate: float


Fault: TypeAlias = (
    ServerCrash | ServerRestart | DiskFull | DiskSlow | CommitsInDoubt | BackendInDoubt | Trouble
)


ServerScenario: TypeAlias = Scenario[Work, Fault]


def scenario(seed: int) -> ServerScenario:
    chance = Random(f"{seed} scenario")
    faults = draw_faults(chance, _FAULTS)
    count = chance.randint(6, 14)
    submits: list[Work] = [_submit(chance, item) for item in range(count)]
    changes = [_change(chance, count, chance.choice(faults).at_s) for _ in range(chance.randint(0, 8))]
    return Scenario(seed, tuple(enumerate([*submits, *changes])), tuple(faults))


# -- jobs

_Shape: TypeAlias = tuple[JobSpec, int]


def _submit(chance: Random, item: int) -> Submit:
    spec, elements = chance.choices(_SHAPES, _SHARES)[0](chance)
    waits_for = chance.randrange(item) if item and chance.random() < 0.25 else None
    after = chance.choice((After.SUCCESS, After.FAILURE, After.ANY, After.ANY))
    return Submit(some_time_s(chance, WORK_S), spec, elements, waits_for, after)


def _single(chance: Random) -> _Shape:
    limit_ms = chance.choice((None, None, 1500, 5000))
    failing = chance.choice((0, 0, 500, 900))
    retry = Retry(chance.randint(0, 2), backoff_ms=chance.choice((200, 1000)))
    run = _run(chance.choice((100, 1000, 3000)), failing)
    return _spec(_task(chance), 1, run, time_limit_ms=limit_ms, priority=_priority(chance), retry=retry), 0


def _gang(chance: Random) -> _Shape:
    """Small enough to fit on the nodes, whatever else there is to run."""
    requests = Resources(1000 * chance.randint(1, 2), chance.randint(1, 2) * GIB)
    retry = Retry(chance.randint(0, 2), backoff_ms=200)
    return (
        _spec(
            TaskSpec(requests),
            chance.randint(2, 4),
            _run(chance.choice((300, 2000)), chance.choice((0, 100, 300))),
            priority=_priority(chance),
            retry=retry,
            on_task_failure=chance.choice(list(OnTaskFailure)),
            min_available=chance.choice((None, None, 1)),
        ),
        0,
    )


def _array(chance: Random) -> _Shape:
    """Of short tasks: these are handed to nodes ahead."""
    run = _run(chance.choice((20, 100, 400)), chance.choice((0, 0, 100)))
    return _spec(_task(chance, cpus=(1, 2)), 1, run, retry=Retry(1, backoff_ms=200)), chance.randint(4, 30)


def _urgent(chance: Random) -> _Shape:
    """Is promised a start, or evicts others."""
    fields = chance.choice(({"queue": QUEUES[1], "time_limit_ms": 3000}, {"priority": Priority.HIGH}))
    return _spec(_task(chance, cpus=(2, 4)), 1, _run(800, 0), **fields), 0


def _endless(chance: Random) -> _Shape:
    """Until it is cancelled, or its time limit ends it: it outlives every lease."""
    limit_ms = chance.choice((None, 8000))
    requests = Resources(1000, GIB)
    return _spec(
        TaskSpec(requests), 1, _run(ENDLESS_MS, 0), time_limit_ms=limit_ms, priority=_priority(chance)
    ), 0


_SHAPES = (_single, _gang, _array, _urgent, _endless)
_SHARES = (5, 2, 3, 2, 2)


def _priority(chance: Random) -> int:
    return chance.choice((Priority.LOW, Priority.LOW, Priority.MEDIUM, Priority.HIGH))


def _task(chance: Random, cpus: tuple[int, ...] = (1, 2, 3, 4)) -> TaskSpec:
    requests = Resources(1000 * chance.choice(cpus), chance.choice((1, 2, 4)) * GIB)
    special = chance.random()
    if special < 0.1:
        return TaskSpec(requests, gpu=GpuRequest(1, chance.choice((500, 1000))))
    if special < 0.2:
        return TaskSpec(requests, ports=(HostPort(8080),))
    return TaskSpec(requests, exclusive=special > 0.95)


def _run(longest_ms: int, fails_per_mille: int) -> Run:
    return Run(("work", str(longest_ms), str(fails_per_mille)), grace_ms=GRACE_MS)


def _spec(task: TaskSpec, tasks: int, run: Run, **fields: object) -> JobSpec:
    of_template = {name: value for name, value in fields.items() if name in JobTemplate.__struct_fields__}
    of_spec = {name: value for name, value in fields.items() if name not in of_template}
    template = JobTemplate((TaskGroup(task, tasks),), **of_template)  # type: ignore[arg-type]
    return JobSpec(template, run, **of_spec)  # type: ignore[arg-type]


# -- what else users and operators do


def _change(chance: Random, submitted: int, fault_s: float) -> Work:
    """Mostly right when something goes wrong, or a moment before: it is half done then."""
    near_s = fault_s + chance.choice((0.1, 0.008)) * (chance.random() - 0.8)
    at_s = chance.choice((some_time_s(chance, FAULTS_S), round(max(0.0, near_s), 4)))
    item = chance.randrange(submitted)
    match chance.choice(("cancel", "cancel", "hold", "extend", "pause", "drain")):
        case "cancel":
            return Cancel(at_s, item)
        case "hold":
            return Hold(at_s, item, some_time_s(chance, 10))
        case "extend":
            return Extend(at_s, item, chance.choice((4000, 8000)))
        case "pause":
            return PauseQueue(at_s, chance.choice(QUEUES), some_time_s(chance, 10))
        case _:
            return Drain(at_s, chance.choice(NODES), some_time_s(chance, 10))


# -- what goes wrong


def _server_crash(chance: Random) -> Fault:
    in_commit = chance.random() < 0.5
    after_steps = int((4 if in_commit else 60) * chance.random() ** 2)
    at_s, down_s = some_time_s(chance, FAULTS_S), some_time_s(chance, 4)
    return ServerCrash(at_s, after_steps, down_s, chance.random() < 0.5, in_commit)


def _server_restart(chance: Random) -> Fault:
    return ServerRestart(some_time_s(chance, FAULTS_S), some_time_s(chance, 2))


def _disk_full(chance: Random) -> Fault:
    return DiskFull(some_time_s(chance, FAULTS_S), some_time_s(chance, 5))


def _disk_slow(chance: Random) -> Fault:
    return DiskSlow(some_time_s(chance, FAULTS_S), some_time_s(chance, 10), round(chance.random(), 3))


def _commits_in_doubt(chance: Random) -> Fault:
    rate, longest_s = chance.choice((0.1, 0.5)), chance.choice((0.002, 0.3))
    return CommitsInDoubt(some_time_s(chance, FAULTS_S), some_time_s(chance, 10), rate, longest_s)


def _backend_in_doubt(chance: Random) -> Fault:
    return BackendInDoubt(some_time_s(chance, FAULTS_S), some_time_s(chance, 10), chance.choice((0.1, 0.3)))


_FAULTS: tuple[Callable[[Random], Fault], ...] = (
    _server_crash,
    _server_crash,
    _server_crash,
    _server_restart,
    agent_crash,
    agent_crash,
    keeper_crash,
    connection_breaks,
    partition,
    partition,
    bad_network,
    bad_network,
    _disk_full,
    _disk_slow,
    _commits_in_doubt,
    _commits_in_doubt,
    _backend_in_doubt,
    clock_jump,
)
