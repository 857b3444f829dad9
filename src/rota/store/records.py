"""What is few and always in memory, as rows of one table: settings, tokens, agents, usage and more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, TypeVar

from msgspec import json
from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from rota.store.sql.tables import records
from rota.store.writing.batch import Batch, Removal

T = TypeVar("T")

_encode = json.Encoder().encode


class Kind(Enum):
    NODE_SETTINGS = "node settings"
    QUEUE = "queue"
    MAINTENANCE = "maintenance"
    RESERVATION = "reservation"
    PROJECT = "project"
    TOKEN = "token"
    JOIN_TOKEN = "join token"
    AGENT = "agent"
    SECRET = "secret"
    AUTHORITY = "authority"
    FILES = "files"
    USAGE = "usage"
    LEARNT = "learnt"

    @staticmethod
    def of(removal: Removal) -> Kind:
        return Kind(removal.value)


def rows_of(batch: Batch) -> Iterator[dict[str, Any]]:
    """Of those with the same name, the last."""
    latest = {(kind, name): record for kind, name, record in _records(batch)}
    for (kind, name), record in latest.items():
        yield {"kind": kind.value, "name": name, "body": _encode(record)}
    if batch.learnt is not None:
        yield {"kind": Kind.LEARNT.value, "name": "", "body": batch.learnt}


def _records(batch: Batch) -> Iterator[tuple[Kind, str, object]]:
    for settings in batch.node_settings:
        yield Kind.NODE_SETTINGS, settings.name, settings
    for queue in batch.queues:
        yield Kind.QUEUE, queue.name, queue
    for window in batch.maintenance:
        yield Kind.MAINTENANCE, window.name, window
    for reservation in batch.reservations:
        yield Kind.RESERVATION, reservation.name, reservation
    for project in batch.projects:
        yield Kind.PROJECT, project.name, project
    for token in batch.tokens:
        yield Kind.TOKEN, token.id, token
    for join_token in batch.join_tokens:
        yield Kind.JOIN_TOKEN, join_token.id, join_token
    for agent in batch.agents:
        yield Kind.AGENT, agent.name, agent
    for secret in batch.secrets:
        yield Kind.SECRET, f"{secret.project}/{secret.name}", secret
    for usage in batch.usage:
        yield Kind.USAGE, usage.path, usage


def first_of_its_kind(connection: Connection, kind: Kind, make: Callable[[], bytes]) -> bytes:
    """The one there is, or the one that is made, unless somebody else is quicker."""
    there = select(records.c.body).where(records.c.kind == kind.value)
    found = connection.execute(there).scalar_one_or_none()
    if found is None:
        # The same words in both, but two functions.
        insert_into = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        made = insert_into(records).values(kind=kind.value, name="", body=make())
        connection.execute(made.on_conflict_do_nothing())
        found = connection.execute(there).scalar_one()
    return bytes(found)


def decoded(bodies: Iterable[bytes], as_type: type[T]) -> list[T]:
    decode = json.Decoder(as_type).decode
    return [decode(body) for body in bodies]
