"""Does to a cluster what goes wrong, and undoes it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import partial
from random import Random

import psycopg

from tests.crash import faults
from tests.crash.cluster import Cluster
from tests.crash.faults import Fault
from tests.crash.plan import Kind
from tests.crash.scheduler_cluster import SchedulerCluster
from tests.crash.server_cluster import ServerCluster
from tests.crash.victims import Controller, Database, Scheduler, Server, hit

_AIMS_FOR_S = 0.3

Heal = Callable[[], None]


def strike(cluster: Cluster, fault: Fault, chance: Random, note: Callable[[str], None]) -> Heal:
    """What makes it well again."""
    match fault:
        case faults.ConnectionsCut():
            assert cluster.relays is not None
            for name in fault.whose:
                cluster.relays.cut(name)
            return _nothing
        case faults.Parted():
            return _part(cluster, fault.whose)
        case faults.AgentKilled() | faults.AgentFrozen() | faults.KeeperKilled() | faults.KeeperFrozen():
            return _hit_agent(cluster, fault)
    if isinstance(cluster, SchedulerCluster):
        return _hit_scheduler(cluster, fault)
    assert isinstance(cluster, ServerCluster)
    match fault:
        case faults.ServerKilled():
            return _kill_server(cluster, chance, note)
        case faults.ServerFrozen():
            return _freeze(cluster.leader)
        case _:
            assert cluster.database is not None
            return _hit_database(cluster.database, fault, chance)


def _freeze(victim: Server | Scheduler | Controller) -> Heal:
    victim.signal(signal.SIGSTOP)
    return partial(victim.signal, signal.SIGCONT)


def _start(victim: Server | Scheduler | Controller) -> None:
    """Something else may have been done about it."""
    if not victim.is_there:
        victim.start()


def _hit_scheduler(cluster: SchedulerCluster, fault: Fault) -> Heal:
    match fault:
        case faults.SchedulerKilled() | faults.SchedulerFrozen():
            victim: Scheduler | Controller = cluster.scheduler
        case faults.ControllerKilled() | faults.ControllerFrozen():
            victim = cluster.controllers[fault.controller]
        case _:
            raise AssertionError(f"a scheduler has no {fault}")
    if isinstance(fault, faults.SchedulerFrozen | faults.ControllerFrozen):
        return _freeze(victim)
    victim.kill()
    return partial(_start, victim)


def _kill_server(cluster: ServerCluster, chance: Random, note: Callable[[str], None]) -> Heal:
    leader = cluster.leader
    if cluster.kind is Kind.LOG_DAMAGED:
        # Where it hurts: right when something is written that isn't synced.
        until_s = time.monotonic() + _AIMS_FOR_S
        while not cluster.log.unsynced_frames() and time.monotonic() < until_s:
            pass
        leader.kill()
        note(cluster.log.damage(chance))
    else:
        leader.kill()
    return partial(_start, leader)


def _hit_database(database: Database, fault: Fault, chance: Random) -> Heal:
    match fault:
        case faults.DatabaseKilled():
            hit(database.processes()[:1], signal.SIGCONT)
            database.stop(signal.SIGKILL)
            return database.begin_anew
        case faults.SessionsCut():
            _if_it_answers(database.cut_sessions)
            return _nothing
        case faults.DatabaseFrozen():
            pids = database.processes()
        case _:
            pids = _if_it_answers(database.sessions) or []
            pids = chance.sample(pids, min(1, len(pids)))
    if isinstance(fault, faults.SessionKilled):
        hit(pids, signal.SIGKILL)
        return _nothing
    hit(pids, signal.SIGSTOP)
    return partial(hit, pids, signal.SIGCONT)


def _if_it_answers(ask: Callable[[], list[int] | None]) -> list[int] | None:
    """A database that was hit before may be away."""
    try:
        return ask()
    except psycopg.OperationalError:
        return None


def _part(cluster: Cluster, names: tuple[str, ...]) -> Heal:
    for name in names:
        cluster.ways.part(name)

    def join() -> None:
        for name in names:
            cluster.ways.join(name)

    return join


def _hit_agent(cluster: Cluster, fault: faults.OfAgent) -> Heal:
    agent = cluster.agents[fault.agent]
    match fault:
        case faults.AgentKilled():
            agent.signal(signal.SIGKILL)
            agent.wait()
            if fault.with_all:
                hit(agent.keepers(), signal.SIGKILL)
                hit(agent.tasks(), signal.SIGKILL)
            return lambda: None if agent.is_there else agent.start()
        case faults.AgentFrozen():
            agent.signal(signal.SIGSTOP)
            return partial(agent.signal, signal.SIGCONT)
        case faults.KeeperKilled():
            hit(agent.keepers(), signal.SIGKILL)
            return _nothing
        case faults.KeeperFrozen():
            keepers = agent.keepers()
            hit(keepers, signal.SIGSTOP)
            return partial(hit, keepers, signal.SIGCONT)


def _nothing() -> None:
    """It heals by itself."""
