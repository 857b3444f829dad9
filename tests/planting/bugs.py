"""Bugs that somebody could make: each has to be caught by one harness at least.

Only what there is, and where it is planted: the bugs themselves are functions of the modules beside this one,
named as they are here. It is read by processes that are to start fast, so it imports next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from enum import Enum
from importlib import import_module

from msgspec import Struct

SERVER = "rota.server.run"
SCHEDULER = "rota.stateless_scheduler.run"
AGENT = "rota.agent.run"
KEEPER = "rota.backends.process.keeper.custody"
"""The last module of a kind of process that matters here: once it is imported, all is there that a bug of
that process changes, and nothing of it is at work."""
PROCESSES: Mapping[str, str] = {
    "control": SERVER,
    "rooms": SERVER,
    "lifecycle": SERVER,
    "dispatch": SERVER,
    "database": SERVER,
    "attended": SERVER,
    "scheduler": SCHEDULER,
    "agent": AGENT,
    "keeper": KEEPER,
}
"""By module of bugs."""

Plant = Callable[[], AbstractContextManager[None]]
"""Makes a context in which the bug is there."""


class Needs(Enum):
    """What a round of the crash tests must have, or the bug can't show in it. Of the seeds of the
    simulation, those with a scheduler are chosen."""

    NOTHING = "nothing"
    CALM = "nothing that goes wrong"
    SERVER_KILLED = "a server that is killed"
    LOG_DAMAGED = "a log that is damaged"
    DATABASE_HIT = "a database that is killed, frozen or cut off"
    LEADER_OUTLIVED = "a leader that is frozen for longer than it leads"
    AGENT_OUTLIVED = "an agent that is frozen or parted for longer than it is waited for"
    AGENT_PARTED = "an agent that is parted for longer than it is waited for"
    KEEPER_KILLED = "a keeper that is killed"
    SCHEDULER = "a scheduler that keeps nothing"


class Bug(Struct, frozen=True):
    name: str
    simulated: str = ""
    """The module that plants it into the simulation; empty: it can't be there."""
    real: str = ""
    """The module that plants it into real processes; empty: it can't show there."""
    needs: Needs = Needs.NOTHING

    def plant_in_simulation(self) -> Plant:
        return self._plant(self.simulated)

    def plant_in_process(self) -> Plant:
        return self._plant(self.real)

    def _plant(self, module: str) -> Plant:
        plant: Plant = getattr(import_module(f"tests.planting.{module}"), self.name.replace(" ", "_"))
        return plant


def _shared(module: str, name: str, needs: Needs = Needs.NOTHING) -> Bug:
    """In code that both harnesses run."""
    return Bug(name, module, module, needs)


BUGS: Mapping[str, Bug] = {
    bug.name: bug
    for bug in (
        _shared("control", "acknowledges before commit", Needs.LOG_DAMAGED),
        _shared("control", "carries out before commit", Needs.DATABASE_HIT),
        _shared("control", "memory stays behind", Needs.DATABASE_HIT),
        _shared("control", "feed skips what it did not publish"),
        _shared("control", "reports are given up", Needs.DATABASE_HIT),
        # All processes of a crash test have the same clock.
        Bug("clocks of nodes are believed", "attended"),
        _shared("control", "attempts are not kept"),
        _shared("control", "dependents are lost at a restart", Needs.SERVER_KILLED),
        _shared("rooms", "stopping tasks have no room"),
        _shared("rooms", "standby rooms are given twice"),
        _shared("rooms", "evicted rooms go to those on standby"),
        _shared("rooms", "evicted rooms are given early"),
        _shared("attended", "fences are not checked", Needs.AGENT_OUTLIVED),
        _shared("lifecycle", "fences begin anew"),
        _shared("lifecycle", "lost tasks are not queued again", Needs.AGENT_OUTLIVED),
        _shared("lifecycle", "retries have no pause"),
        _shared("lifecycle", "gangs start without all of them"),
        _shared("dispatch", "reports are settled before they are kept", Needs.DATABASE_HIT),
        _shared("dispatch", "starts are lost at a restart", Needs.SERVER_KILLED),
        Bug("unreachable backends lose instructions", "dispatch"),
        Bug("unreachable backends lose stops", "dispatch"),
        _shared("attended", "leases last as long as nodes are waited for", Needs.AGENT_OUTLIVED),
        _shared("attended", "agents are not waited for after a restart", Needs.SERVER_KILLED),
        _shared("agent", "leases are renewed by beats without answers", Needs.AGENT_PARTED),
        # Simulated work takes no time of the loop's.
        Bug("heartbeats wait for the work of tasks", real="agent", needs=Needs.CALM),
        _shared("keeper", "agents forget their tasks at a restart", Needs.KEEPER_KILLED),
        _shared("keeper", "keepers ignore their leases", Needs.AGENT_OUTLIVED),
        _shared("keeper", "only the first process of a task is ended"),
        _shared("database", "batches are kept in two transactions", Needs.LOG_DAMAGED),
        _shared("database", "commits are not synced", Needs.LOG_DAMAGED),
        Bug("leaders write without their token", real="database", needs=Needs.LEADER_OUTLIVED),
        _shared("scheduler", "actions start before they are recorded", Needs.SCHEDULER),
        _shared("scheduler", "results overtake output", Needs.SCHEDULER),
        # An agent that is lost right when a controller comes back: the crash tests hardly meet that.
        Bug("ends are told without what is lost", "scheduler", needs=Needs.SCHEDULER),
    )
}
