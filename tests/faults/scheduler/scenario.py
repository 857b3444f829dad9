"""What controllers ask of a scheduler, and what goes wrong meanwhile: drawn from the seed beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias

from msgspec import Struct

from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.task import TaskSpec
from tests.faults.scenario import ENDLESS_MS, GIB, WORK_S
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

CONTROLLERS = ("ci", "nightly")
SCHEDULER = "scheduler"
RECORD_WITHIN_MS = 3_000
"""How long the scheduler waits for a controller to record a placement."""
_PORT = 8080


# -- work


class Form(Struct, frozen=True, omit_defaults=True):
    """What an action does and takes."""

    longest_ms: int
    fails_per_mille: int = 0
    cpus: int = 1
    gibibytes: int = 1
    priority: str = "medium"
    limit_ms: int | None = None
    has_port: bool = False
    has_gpu: bool = False
    is_exclusive: bool = False

    @property
    def is_endless(self) -> bool:
        return self.longest_ms == ENDLESS_MS and self.limit_ms is None

    @property
    def takes_s(self) -> float:
        """At most, and nothing if somebody has to end it."""
        return (self.limit_ms or self.longest_ms) % ENDLESS_MS / 1000

    def job(self) -> dict[str, Any]:
        """As a controller submits it."""
        job: dict[str, Any] = {
            "command": ["work", str(self.longest_ms), str(self.fails_per_mille)],
            "resources": {"cpu": self.cpus, "memory": f"{self.gibibytes}Gi"},
            "priority": self.priority,
            "exclusive": self.is_exclusive,
            "grace": "1s",
        }
        if self.limit_ms is not None:
            job["time_limit"] = f"{self.limit_ms}ms"
        if self.has_gpu:
            job["gpus"] = 1
        if self.has_port:
            job["ports"] = [_PORT]
        return job

    def spec(self) -> TaskSpec:
        """What it takes, counted by somebody who doesn't read jobs."""
        return TaskSpec(
            Resources(1000 * self.cpus, self.gibibytes * GIB),
            gpu=GpuRequest(1) if self.has_gpu else GpuRequest(),
            ports=(HostPort(_PORT),) if self.has_port else (),
            exclusive=self.is_exclusive,
        )


class Submit(Struct, frozen=True):
    at_s: float
    controller: str
    form: Form


class Cancel(Struct, frozen=True):
    at_s: float
    item: int


Work: TypeAlias = Submit | Cancel


# -- faults


class SchedulerCrash(Struct, frozen=True):
    at_s: float
    after_steps: int
    """Between any two steps of its tasks."""
    down_s: float
    power_is_lost: bool


class ControllerCrash(Struct, frozen=True):
    at_s: float
    controller: str
    after_steps: int
    down_s: float
    power_is_lost: bool


class SlowLedger(Struct, frozen=True):
    """It takes a controller so long to record where its actions are placed."""

    at_s: float
    controller: str
    for_s: float
    longest_s: float


Fault: TypeAlias = SchedulerCrash | ControllerCrash | SlowLedger | Trouble
ActionScenario: TypeAlias = Scenario[Work, Fault]


def action_scenario(seed: int) -> ActionScenario:
    chance = Random(f"{seed} actions")
    faults = draw_faults(chance, _FAULTS)
    near = [fault.at_s for fault in faults]
    submits = [_submit(chance, name, near) for name in CONTROLLERS for _ in range(chance.randint(8, 18))]
    cancels = [_cancel(chance, len(submits), chance.choice(near)) for _ in range(chance.randint(0, 6))]
    return Scenario(seed, tuple(enumerate([*submits, *cancels])), tuple(faults))


# -- actions


def _submit(chance: Random, controller: str, near: Sequence[float]) -> Submit:
    """Many at the beginning, more than there is room for; others a moment before something goes wrong."""
    form = chance.choices(_FORMS, _SHARES)[0](chance)
    at_s = WORK_S * chance.random() ** 2
    if chance.random() < 0.5:
        at_s = chance.choice(near) - chance.choice((2.0, 0.1)) * chance.random()
    return Submit(round(min(max(0.0, at_s), FAULTS_S - 1), 3), controller, form)


def _any(chance: Random) -> Form:
    return Form(
        chance.choice((100, 1000, 3000, 6000)),
        chance.choice((0, 0, 500, 900)),
        chance.randint(1, 4),
        chance.choice((1, 2, 4)),
        priority=_priority(chance),
        has_port=chance.random() < 0.15,
        has_gpu=chance.random() < 0.1,
    )


def _short(chance: Random) -> Form:
    return Form(chance.choice((10, 50)), chance.choice((0, 300)))


def _limited(chance: Random) -> Form:
    return Form(chance.choice((3000, ENDLESS_MS)), limit_ms=chance.choice((1000, 2500)))


def _urgent(chance: Random) -> Form:
    """Evicts others."""
    return Form(800, cpus=chance.randint(2, 4), priority="high", is_exclusive=chance.random() < 0.3)


def _endless(chance: Random) -> Form:
    """Until it is cancelled: it outlives every lease."""
    return Form(ENDLESS_MS, cpus=chance.randint(1, 2), priority=_priority(chance))


_FORMS: tuple[Callable[[Random], Form], ...] = (_any, _short, _limited, _urgent, _endless)
_SHARES = (6, 3, 2, 2, 3)


def _priority(chance: Random) -> str:
    return chance.choice(("low", "low", "medium", "high"))


def _cancel(chance: Random, submitted: int, fault_s: float) -> Cancel:
    """Mostly right when something goes wrong, or a moment before: it is half done then."""
    near_s = fault_s + chance.choice((0.1, 0.008)) * (chance.random() - 0.8)
    at_s = chance.choice((some_time_s(chance, FAULTS_S), round(max(0.0, near_s), 4)))
    return Cancel(at_s, chance.randrange(submitted))


# -- what goes wrong


def _some_steps(chance: Random) -> int:
    return int(60 * chance.random() ** 2)


def _down_s(chance: Random) -> float:
    """At times for longer than anybody waits."""
    return some_time_s(chance, chance.choice((1, 4, 12)))


def _scheduler_crash(chance: Random) -> Fault:
    return SchedulerCrash(
        some_time_s(chance, FAULTS_S), _some_steps(chance), _down_s(chance), chance.random() < 0.3
    )


def _controller_crash(chance: Random) -> Fault:
    return ControllerCrash(
        some_time_s(chance, FAULTS_S),
        chance.choice(CONTROLLERS),
        _some_steps(chance),
        _down_s(chance),
        chance.random() < 0.3,
    )


def _slow_ledger(chance: Random) -> Fault:
    """At times slower than the scheduler waits for."""
    longest_s = chance.choice((0.5, 2, 2 * RECORD_WITHIN_MS / 1000))
    return SlowLedger(
        some_time_s(chance, FAULTS_S), chance.choice(CONTROLLERS), some_time_s(chance, 12), longest_s
    )


_ALL_WHO_DIAL = (*NODES, *CONTROLLERS)
_FAULTS: tuple[Callable[[Random], Fault], ...] = (
    _scheduler_crash,
    _scheduler_crash,
    _scheduler_crash,
    _controller_crash,
    _controller_crash,
    _slow_ledger,
    agent_crash,
    agent_crash,
    keeper_crash,
    partial(connection_breaks, among=(*_ALL_WHO_DIAL, SCHEDULER)),
    partial(partition, among=_ALL_WHO_DIAL),
    partial(partition, among=_ALL_WHO_DIAL),
    bad_network,
    bad_network,
    partial(clock_jump, among=_ALL_WHO_DIAL),
)
