"""What can go wrong, and for how long it does."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class ServerKilled(Struct, frozen=True):
    """The one that leads."""

    for_s: float


class ServerFrozen(Struct, frozen=True):
    for_s: float


class AgentKilled(Struct, frozen=True):
    for_s: float
    agent: str
    with_all: bool
    """Its keeper and its tasks, too: as if its machine had lost its power."""


class AgentFrozen(Struct, frozen=True):
    for_s: float
    agent: str


class KeeperKilled(Struct, frozen=True):
    """The agent starts another one."""

    for_s: float
    agent: str


class KeeperFrozen(Struct, frozen=True):
    for_s: float
    agent: str


class ConnectionsCut(Struct, frozen=True):
    """Those of agents, and of controllers."""

    for_s: float
    whose: tuple[str, ...]


class Parted(Struct, frozen=True):
    """From the server or the scheduler; nobody is told."""

    for_s: float
    whose: tuple[str, ...]


class DatabaseKilled(Struct, frozen=True):
    """As a whole."""

    for_s: float


class DatabaseFrozen(Struct, frozen=True):
    for_s: float


class SessionKilled(Struct, frozen=True):
    """One process of the database, at which it begins anew."""

    for_s: float


class SessionFrozen(Struct, frozen=True):
    for_s: float


class SessionsCut(Struct, frozen=True):
    for_s: float


class SchedulerKilled(Struct, frozen=True):
    for_s: float


class SchedulerFrozen(Struct, frozen=True):
    for_s: float


class ControllerKilled(Struct, frozen=True):
    for_s: float
    controller: str


class ControllerFrozen(Struct, frozen=True):
    for_s: float
    controller: str


OfAgent: TypeAlias = AgentKilled | AgentFrozen | KeeperKilled | KeeperFrozen
OfDatabase: TypeAlias = DatabaseKilled | DatabaseFrozen | SessionKilled | SessionFrozen | SessionsCut
OfServer: TypeAlias = ServerKilled | ServerFrozen
OfScheduler: TypeAlias = SchedulerKilled | SchedulerFrozen | ControllerKilled | ControllerFrozen
Fault: TypeAlias = OfAgent | OfDatabase | OfServer | OfScheduler | ConnectionsCut | Parted
