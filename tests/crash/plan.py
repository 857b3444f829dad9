"""What goes wrong in a round, in which order and for how long: drawn from its seed.

When exactly it strikes is up to the machine: two runs of a seed do the same, and not to the millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from random import Random
from typing import TypeAlias

from msgspec import Struct

from tests.crash.faults import (
    AgentFrozen,
    AgentKilled,
    ConnectionsCut,
    ControllerFrozen,
    ControllerKilled,
    DatabaseFrozen,
    DatabaseKilled,
    Fault,
    KeeperFrozen,
    KeeperKilled,
    Parted,
    SchedulerFrozen,
    SchedulerKilled,
    ServerFrozen,
    ServerKilled,
    SessionFrozen,
    SessionKilled,
    SessionsCut,
)
from tests.real.scheduler.stand import CONTROLLERS

POINTS = 12
"""Of a round: so many times something goes wrong."""
AGENTS = ("a", "b", "c")
LOST_AFTER_S = 6.0
"""When an agent counts as lost: also on a busy machine, its keeper has ended its tasks by then."""
_OUTLIVED_S = LOST_AFTER_S + 1.5
LEADS_S = 15.0
"""How long a server leads that isn't heard of."""
_RECORDS_S = 30.0
"""How long a scheduler waits for a controller to record where an action is placed."""
_LONG = 0.12
"""So many are outlived by nobody's patience."""


class Kind(Enum):
    LOG_DAMAGED = "SQLite, with the end of its log damaged whenever its server is killed"
    POSTGRES = "PostgreSQL, with two servers"
    PARTED = "SQLite, with each agent in a network of its own, by TLS"
    SCHEDULER = "a scheduler that keeps nothing, with two controllers that keep all"


class Point(Struct, frozen=True):
    after_s: float
    """Since all was well again."""
    faults: tuple[Fault, ...]
    """The second strikes while the first lasts."""
    apart_s: float


class Plan(Struct, frozen=True):
    seed: int
    kind: Kind
    points: tuple[Point, ...]

    @property
    def length(self) -> int:
        return sum(len(point.faults) for point in self.points)


def plan(seed: int, points: int = POINTS) -> Plan:
    """Five in a row are of every kind. Half of those on SQLite have their log damaged."""
    kind = _KINDS[seed % len(_KINDS)]
    chance = Random(f"{seed} faults")
    return Plan(seed, kind, tuple(_points(chance, kind, points)))


def _points(chance: Random, kind: Kind, wanted: int) -> list[Point]:
    drawn: list[Point] = []
    while wanted > 0:
        faults = [_fault(chance, kind)]
        if wanted > 1 and chance.random() < 0.25:
            faults.append(_fault(chance, kind))
        if len(faults) > 1 and any(isinstance(fault, KeeperFrozen) for fault in faults):
            # A keeper that can't act and an agent that isn't heard of at once: nobody could end its tasks.
            faults.pop()
        wanted -= len(faults)
        drawn.append(Point(_some(chance, 0.6), tuple(faults), _some(chance, 0.4)))
    return drawn


def _fault(chance: Random, kind: Kind) -> Fault:
    return chance.choice(_DRAWN[kind])(chance)


def _some(chance: Random, most_s: float) -> float:
    return round(most_s * chance.random(), 3)


def _while(chance: Random, most_s: float = 1.5) -> float:
    return _OUTLIVED_S if chance.random() < _LONG else _some(chance, most_s)


def _server_killed(chance: Random) -> Fault:
    return ServerKilled(_some(chance, 0.5))


def _leader_gone(chance: Random) -> Fault:
    """Most of the time it is back before its lease ends; else another one leads."""
    return ServerKilled(LEADS_S + 6 if chance.random() < 0.15 else _some(chance, 0.5))


def _server_frozen(chance: Random) -> Fault:
    return ServerFrozen(_while(chance))


def _leader_frozen(chance: Random) -> Fault:
    return ServerFrozen(LEADS_S + 6 if chance.random() < 0.15 else _some(chance, 2.0))


def _agent_killed(chance: Random) -> Fault:
    return AgentKilled(_while(chance), chance.choice(AGENTS), chance.random() < 0.4)


def _agent_frozen(chance: Random) -> Fault:
    return AgentFrozen(_while(chance), chance.choice(AGENTS))


def _keeper_killed(chance: Random) -> Fault:
    return KeeperKilled(_some(chance, 0.5), chance.choice(AGENTS))


def _keeper_frozen(chance: Random) -> Fault:
    return KeeperFrozen(_some(chance, 2.0), chance.choice(AGENTS))


def _connections_cut(chance: Random, among: Sequence[str] = AGENTS) -> Fault:
    return ConnectionsCut(0.0, _some_of(chance, among))


def _parted(chance: Random, among: Sequence[str] = AGENTS) -> Fault:
    return Parted(_while(chance, 2.5), _some_of(chance, among))


def _database_killed(chance: Random) -> Fault:
    return DatabaseKilled(_some(chance, 1.0))


def _database_frozen(chance: Random) -> Fault:
    return DatabaseFrozen(_some(chance, 2.5))


def _session_killed(chance: Random) -> Fault:
    return SessionKilled(0.0)


def _session_frozen(chance: Random) -> Fault:
    return SessionFrozen(_some(chance, 2.5))


def _sessions_cut(chance: Random) -> Fault:
    return SessionsCut(0.0)


def _scheduler_killed(chance: Random) -> Fault:
    return SchedulerKilled(_while(chance, 0.5))


def _scheduler_frozen(chance: Random) -> Fault:
    return SchedulerFrozen(_while(chance))


def _controller_killed(chance: Random) -> Fault:
    return ControllerKilled(_while(chance), chance.choice(CONTROLLERS))


def _controller_frozen(chance: Random) -> Fault:
    """Few for so long that the scheduler gives its placements to others."""
    for_s = _RECORDS_S + 2 if chance.random() < 0.08 else _while(chance)
    return ControllerFrozen(for_s, chance.choice(CONTROLLERS))


def _some_of(chance: Random, among: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in among if chance.random() < 0.5) or (among[0],)


_Draw: TypeAlias = Callable[[Random], Fault]
_KINDS = (Kind.SCHEDULER, Kind.LOG_DAMAGED, Kind.POSTGRES, Kind.PARTED, Kind.POSTGRES)
_ALL_WHO_DIAL = (*AGENTS, *CONTROLLERS)
_OF_AGENTS: tuple[_Draw, ...] = (_agent_killed, _agent_frozen, _keeper_killed, _keeper_frozen, _parted)
_DRAWN: dict[Kind, tuple[_Draw, ...]] = {
    Kind.LOG_DAMAGED: (*_OF_AGENTS, _connections_cut, *5 * (_server_killed,), _server_frozen),
    Kind.PARTED: (*_OF_AGENTS, *3 * (_parted,), *2 * (_server_killed,), _server_frozen),
    Kind.POSTGRES: (
        *_OF_AGENTS,
        _connections_cut,
        *2 * (_leader_gone,),
        _leader_frozen,
        _database_killed,
        _database_frozen,
        _session_killed,
        _session_frozen,
        _sessions_cut,
    ),
    Kind.SCHEDULER: (
        *_OF_AGENTS,
        partial(_connections_cut, among=_ALL_WHO_DIAL),
        partial(_parted, among=_ALL_WHO_DIAL),
        *4 * (_scheduler_killed,),
        *2 * (_scheduler_frozen,),
        *2 * (_controller_killed,),
        *2 * (_controller_frozen,),
    ),
}
