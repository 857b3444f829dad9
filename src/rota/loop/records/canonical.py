"""One encoding for equal things, and hashes of it: the same in every process and on every machine.

msgspec's own encoding won't do: whether it leaves out a field that has its default value depends on
which object stands for the value.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from functools import cache
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.msgpack import Encoder

_ENCODER = Encoder(order="sorted")
_MODULUS = 1 << 256


def encoded(value: object) -> bytes:
    """Fields that have their default value are left out, so that a record keeps its encoding when
    a later version of Rota knows more fields."""
    return _ENCODER.encode(_plain(value))


def digest(value: object) -> bytes:
    return sha256(encoded(value)).digest()


def _plain(value: Any) -> object:
    kind = type(value)
    if kind is str or kind is int:
        return value
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Struct):
        plain: dict[str, object] = {} if (tag := value.__struct_config__.tag) is None else {"": tag}
        for name, default in _fields(type(value)):
            field = getattr(value, name)
            if field is not default and field != default:
                plain[name] = _plain(field)
        return plain
    return value.value if isinstance(value, Enum) else value


@cache
def _fields(kind: type[Struct]) -> tuple[tuple[str, object], ...]:
    """Names and default values; a field without one gets a value that nothing is equal to."""
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    required = (object(),) * (len(names) - len(defaults))
    return tuple(zip(names, required + defaults, strict=True))


class SetHash:
    """The hash of a set of named parts, updated as they change. It depends on the content, not on the order
    of changes.

    It is the sum of the parts' SHA-256 modulo 2^256. That shows whether two sets are equal, unless one was
    forged on purpose, which isn't a concern here.
    """

    def __init__(self) -> None:
        self._parts: dict[Hashable, int] = {}
        self._sum = 0

    def put(self, name: tuple[str, ...], content: bytes) -> None:
        self.drop(name)
        part = int.from_bytes(sha256(encoded(name) + content).digest(), "big")
        self._parts[name] = part
        self._sum = (self._sum + part) % _MODULUS

    def drop(self, name: tuple[str, ...]) -> None:
        self._sum = (self._sum - self._parts.pop(name, 0)) % _MODULUS

    def __contains__(self, name: tuple[str, ...]) -> bool:
        return name in self._parts

    def digest(self, *others: object) -> bytes:
        """Of the set, together with other values."""
        return sha256(self._sum.to_bytes(32, "big") + encoded(others)).digest()
