"""All that a server must know when it starts, read in one go."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field
from sqlalchemy import Connection, select

from rota.lifecycle.state import TERMINAL, JobState, Phase
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.cluster import TenantUsage
from rota.model.ids import JobId
from rota.store.reading.rows import STATE, read_attempt, read_states
from rota.store.records import Kind, decoded
from rota.store.sql.tables import attempts, counters, jobs, records
from rota.store.writing.batch import Agent, Attempt, JoinToken, NodeSettings, Project, Secret, Token
from rota.store.writing.write import EVENTS


class Loaded(Struct):
    jobs: list[JobState]
    """All that are unfinished, by number."""
    unreadable: list[tuple[JobId, str]]
    """Unfinished jobs whose rows can't be read, and why."""
    attempts: list[Attempt]
    """Those that haven't ended."""
    node_settings: list[NodeSettings]
    queues: list[QueueState]
    maintenance: list[Maintenance]
    reservations: list[Reservation]
    projects: list[Project]
    tokens: list[Token]
    usage: list[TenantUsage]
    learnt: bytes | None
    last_seq: int
    join_tokens: list[JoinToken] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list)


@contextmanager
def without_collection() -> Iterator[None]:
    """Everything that is read stays: Python's garbage collector would look through it again and again, and
    make of one second three."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load(connection: Connection) -> Loaded:
    unfinished = [phase.value for phase in Phase if phase not in TERMINAL]
    rows = connection.execute(select(*STATE).where(jobs.c.phase.in_(unfinished))).all()
    states = read_states(connection, rows)
    live = select(attempts).where(attempts.c.ended_ms.is_(None)).order_by(attempts.c.job, attempts.c.fence)
    bodies: dict[str, list[bytes]] = {kind.value: [] for kind in Kind}
    for kind, body in connection.execute(
        select(records.c.kind, records.c.body).order_by(records.c.kind, records.c.name)
    ):
        bodies[kind].append(body)
    learnt = bodies[Kind.LEARNT.value]
    return Loaded(
        jobs=sorted(states.readable, key=lambda state: state.number),
        unreadable=sorted(states.unreadable),
        attempts=[read_attempt(row) for row in connection.execute(live)],
        node_settings=decoded(bodies[Kind.NODE_SETTINGS.value], NodeSettings),
        queues=decoded(bodies[Kind.QUEUE.value], QueueState),
        maintenance=decoded(bodies[Kind.MAINTENANCE.value], Maintenance),
        reservations=decoded(bodies[Kind.RESERVATION.value], Reservation),
        projects=decoded(bodies[Kind.PROJECT.value], Project),
        tokens=decoded(bodies[Kind.TOKEN.value], Token),
        join_tokens=decoded(bodies[Kind.JOIN_TOKEN.value], JoinToken),
        agents=decoded(bodies[Kind.AGENT.value], Agent),
        secrets=decoded(bodies[Kind.SECRET.value], Secret),
        usage=decoded(bodies[Kind.USAGE.value], TenantUsage),
        learnt=bytes(learnt[0]) if learnt else None,
        last_seq=connection.execute(select(counters.c.value).where(counters.c.name == EVENTS)).scalar() or 0,
    )
