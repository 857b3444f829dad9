"""What goes wrong with machines, clocks and the network, whoever works with them, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rota.model.ids import NodeName

NODES = tuple(NodeName(name) for name in ("n1", "n2", "n3"))
FAULTS_S = 30.0
"""In which things go wrong."""

W = TypeVar("W")
F = TypeVar("F")


class Scenario(Struct, Generic[W, F], frozen=True):
    """What is asked for, and what goes wrong meanwhile."""

    seed: int
    work: tuple[tuple[int, W], ...]
    """Numbered: what refers to others does so by their numbers."""
    faults: tuple[F, ...]


AnyScenario: TypeAlias = Scenario[Any, Any]


class AgentCrash(Struct, frozen=True):
    at_s: float
    node: NodeName
    down_s: float
    power_is_lost: bool
    is_wiped: bool


class KeeperCrash(Struct, frozen=True):
    """The process that keeps a node's tasks, which go on."""

    at_s: float
    node: NodeName
    after_calls: int
    """Of the kernel."""


class ConnectionBreaks(Struct, frozen=True):
    at_s: float
    host: str


class Partition(Struct, frozen=True):
    at_s: float
    for_s: float
    hosts: tuple[str, ...]


class BadNetwork(Struct, frozen=True):
    at_s: float
    for_s: float
    drops: float
    duplicates: float
    delays: float


class ClockJump(Struct, frozen=True):
    at_s: float
    by_ms: int
    host: str | None
    """None: that of whom all machines dial."""


Trouble: TypeAlias = AgentCrash | KeeperCrash | ConnectionBreaks | Partition | BadNetwork | ClockJump


# -- how they are drawn


def draw_faults(chance: Random, kinds: Sequence[Callable[[Random], F]]) -> list[F]:
    """They seldom come alone."""
    faults: list[Any] = []
    for _ in range(chance.randint(1, 8)):
        fault: Any = chance.choice(kinds)(chance)
        if faults and chance.random() < 0.4:
            fault = replace(fault, at_s=round(faults[-1].at_s + 0.5 * chance.random(), 3))
        faults.append(fault)
    return sorted(faults, key=lambda one: float(one.at_s))


def some_time_s(chance: Random, until_s: float) -> float:
    return round(until_s * chance.random(), 3)


def agent_crash(chance: Random) -> AgentCrash:
    kind = chance.random()
    return AgentCrash(
        some_time_s(chance, FAULTS_S),
        chance.choice(NODES),
        some_time_s(chance, 15),
        kind < 0.6,
        is_wiped=kind < 0.15,
    )


def keeper_crash(chance: Random) -> KeeperCrash:
    return KeeperCrash(some_time_s(chance, FAULTS_S), chance.choice(NODES), chance.choice((0, 0, 1, 2, 3)))


def connection_breaks(chance: Random, among: Sequence[str] = NODES) -> ConnectionBreaks:
    return ConnectionBreaks(some_time_s(chance, FAULTS_S), chance.choice(among))


def partition(chance: Random, among: Sequence[str] = NODES) -> Partition:
    cut_off = tuple(host for host in among if chance.random() < 0.5) or tuple(among[:1])
    return Partition(some_time_s(chance, FAULTS_S), some_time_s(chance, 12), cut_off)


def bad_network(chance: Random) -> BadNetwork:
    drops, duplicates, delays = (round(0.4 * chance.random(), 3) for _ in range(3))
    return BadNetwork(some_time_s(chance, FAULTS_S), some_time_s(chance, 15), drops, duplicates, delays)


def clock_jump(chance: Random, among: Sequence[str] = NODES) -> ClockJump:
    by_ms = chance.choice((-3000, -500, 500, 3000, 60_000))
    return ClockJump(some_time_s(chance, FAULTS_S), by_ms, chance.choice((None, *among)))
