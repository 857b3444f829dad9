"""Does to a cluster what goes wrong, and undoes it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import partial
from random import Random

import psycopg

from tests.crash import plan
from tests.crash.cluster import Cluster
from tests.crash.plan import Fault, Kind
from tests.crash.victims import Database, Server, hit

_AIMS_FOR_S = 0.3

Heal = Callable[[], None]


def strike(cluster: Cluster, kind: Kind, fault: Fault, chance: Random, note: Callable[[str], None]) -> Heal:
    """What makes it well again."""
    match fault:
        case plan.ServerKilled():
            return _kill_server(cluster, kind, chance, note)
        case plan.ServerFrozen():
            leader = cluster.leader
            leader.signal(signal.SIGSTOP)
            return partial(leader.signal, signal.SIGCONT)
        case plan.DatabaseKilled() | plan.DatabaseFrozen() | plan.SessionKilled() | plan.SessionFrozen():
            assert cluster.database is not None
            return _hit_database(cluster.database, fault, chance)
        case plan.SessionsCut():
            assert cluster.database is not None
            _if_it_answers(cluster.database.cut_sessions)
            return _nothing
        case plan.ConnectionsCut():
            assert cluster.relays is not None
            for name in fault.agents:
                cluster.relays.cut(name)
            return _nothing
        case plan.Parted():
            return _part(cluster, fault.agents)
        case _:
            return _hit_agent(cluster, fault)


def _kill_server(cluster: Cluster, kind: Kind, chance: Random, note: Callable[[str], None]) -> Heal:
    leader = cluster.leader
    if kind is Kind.LOG_DAMAGED:
        # Where it hurts: right when something is written that isn't synced.
        until_s = time.monotonic() + _AIMS_FOR_S
        while not cluster.log.unsynced_frames() and time.monotonic() < until_s:
            pass
        leader.kill()
        note(cluster.log.damage(chance))
    else:
        leader.kill()
    return partial(_start, leader)


def _start(server: Server) -> None:
    if not server.is_there:
        server.start()


def _hit_database(database: Database, fault: Fault, chance: Random) -> Heal:
    match fault:
        case plan.DatabaseKilled():
            hit(database.processes()[:1], signal.SIGCONT)
            database.stop(signal.SIGKILL)
            return database.begin_anew
        case plan.DatabaseFrozen():
            pids = database.processes()
        case _:
            pids = _if_it_answers(database.sessions) or []
            pids = chance.sample(pids, min(1, len(pids)))
    if isinstance(fault, plan.SessionKilled):
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
    ways = cluster.namespaces or cluster.relays
    assert ways is not None
    for name in names:
        ways.part(name)

    def join() -> None:
        for name in names:
            ways.join(name)

    return join


def _hit_agent(cluster: Cluster, fault: Fault) -> Heal:
    assert isinstance(fault, plan.AgentKilled | plan.AgentFrozen | plan.KeeperKilled | plan.KeeperFrozen)
    agent = cluster.agents[fault.agent]
    match fault:
        case plan.AgentKilled():
            agent.signal(signal.SIGKILL)
            agent.wait()
            if fault.with_all:
                hit(agent.keepers(), signal.SIGKILL)
                hit(agent.tasks(), signal.SIGKILL)
            return lambda: None if agent.is_there else agent.start()
        case plan.AgentFrozen():
            agent.signal(signal.SIGSTOP)
            return partial(agent.signal, signal.SIGCONT)
        case plan.KeeperKilled():
            hit(agent.keepers(), signal.SIGKILL)
            return _nothing
        case plan.KeeperFrozen():
            keepers = agent.keepers()
            hit(keepers, signal.SIGSTOP)
            return partial(hit, keepers, signal.SIGCONT)


def _nothing() -> None:
    """It heals by itself."""
