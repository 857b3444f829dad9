"""What is few and always in memory, as rows of one table: settings, tokens, usage, what was learnt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, TypeVar

from msgspec import json

from rota.store.batch import Batch, Removal

T = TypeVar("T")

_encode = json.Encoder().encode


class Kind(Enum):
    NODE_SETTINGS = "node settings"
    QUEUE = "queue"
    MAINTENANCE = "maintenance"
    RESERVATION = "reservation"
    PROJECT = "project"
    TOKEN = "token"
    USAGE = "usage"
    LEARNT = "learnt"

    @staticmethod
    def of(removal: Removal) -> Kind:
        return Kind(removal.value)


def rows_of(batch: Batch) -> Iterator[dict[str, Any]]:
    for kind, name, record in _records(batch):
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
    for usage in batch.usage:
        yield Kind.USAGE, usage.path, usage


def decoded(bodies: Iterable[bytes], as_type: type[T]) -> list[T]:
    decode = json.Decoder(as_type).decode
    return [decode(body) for body in bodies]
