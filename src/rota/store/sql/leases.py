"""Who leads: a row that one server holds for a while, with a token that grows with every change of hands.

All times are the database's own: the clocks of servers are never compared. PostgreSQL only; an SQLite
database has one server, by the lock on its folder.
"""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import BigInteger, Connection, Update, cast, extract, func, select, update
from sqlalchemy.dialects.postgresql import insert

from rota.store.errors import StoreFenced
from rota.store.sql.tables import leases

_NOW_MS = cast(extract("epoch", func.clock_timestamp()) * 1000, BigInteger)


class Leadership(Struct, frozen=True):
    """What every write of a leader carries."""

    name: str
    token: int


class Lease(Struct, frozen=True):
    """Who leads, as others see it."""

    holder: str
    address: str
    """Of its REST interface; empty: it serves alone."""
    certificate_sha256: str
    """What it shows there; empty: no TLS."""
    left_ms: int
    """Not positive: it has ended, and whoever comes may take it."""


class Claim(Struct, frozen=True):
    """Who wants to lead."""

    name: str
    holder: str
    """The same after a restart: one that comes back takes up its lease at once, under a new token."""
    address: str = ""
    certificate_sha256: str = ""


def take(connection: Connection, claim: Claim, ttl_ms: int) -> Leadership | None:
    """None: another holds it."""
    wanted = insert(leases).values(
        name=claim.name,
        holder=claim.holder,
        token=1,
        until_ms=_NOW_MS + ttl_ms,
        address=claim.address,
        certificate_sha256=claim.certificate_sha256,
    )
    statement = wanted.on_conflict_do_update(
        index_elements=["name"],
        set_={
            "holder": claim.holder,
            "token": leases.c.token + 1,
            "until_ms": _NOW_MS + ttl_ms,
            "address": claim.address,
            "certificate_sha256": claim.certificate_sha256,
        },
        where=(leases.c.until_ms <= _NOW_MS) | (leases.c.holder == claim.holder),
    ).returning(leases.c.token)
    token = connection.execute(statement).scalar_one_or_none()
    return None if token is None else Leadership(claim.name, token)


def renew(connection: Connection, leadership: Leadership, ttl_ms: int) -> bool:
    """False: another has taken it. One that has ended and that nobody took goes on."""
    return bool(connection.execute(_held(leadership).values(until_ms=_NOW_MS + ttl_ms)).rowcount)


def give_up(connection: Connection, leadership: Leadership) -> None:
    connection.execute(_held(leadership).values(until_ms=0))


def end_all(connection: Connection) -> None:
    """Of a database that was put back: whoever led when it was copied leads no more. Tokens go on growing."""
    connection.execute(update(leases).values(until_ms=0))


def ensure_led(connection: Connection, leadership: Leadership) -> None:
    """Until the transaction ends, nobody takes over: its row is locked against that."""
    statement = select(leases.c.token).where(leases.c.name == leadership.name).with_for_update(read=True)
    if connection.execute(statement).scalar_one_or_none() != leadership.token:
        raise StoreFenced("another server leads now: ask again, and it will answer")


def find(connection: Connection, name: str) -> Lease | None:
    row = connection.execute(
        select(
            leases.c.holder,
            leases.c.address,
            leases.c.certificate_sha256,
            (leases.c.until_ms - _NOW_MS).label("left_ms"),
        ).where(leases.c.name == name)
    ).one_or_none()
    return None if row is None else Lease(*row)


def _held(leadership: Leadership) -> Update:
    return update(leases).where(leases.c.name == leadership.name, leases.c.token == leadership.token)
