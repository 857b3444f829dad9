"""Which version of a record somebody has seen: what they change must still be that one."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct, json

from rota.control.errors import Changed

_DIGITS = 16


def version_of(record: Struct) -> str:
    """The same for the same content."""
    return sha256(json.encode(record)).hexdigest()[:_DIGITS]


def check_version(kind: str, name: str, record: Struct | None, wanted: Struct, seen: str | None) -> None:
    """Raises Changed if `record` isn't the one that was seen (None: whichever it is) nor the one that is
    wanted: a client that lost its answer asks again."""
    if seen is not None and record != wanted and (record is None or version_of(record) != seen):
        raise Changed(f"the {kind} {name} was changed meanwhile", "read it again, and repeat your change")
