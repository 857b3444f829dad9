"""Equal records are kept once: files of many jobs hold few kinds of them."""

import marshal
from collections.abc import Container, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Interned(Generic[T]):
    def __init__(self) -> None:
        self._known: dict[T, T] = {}

    def __call__(self, value: T) -> T:
        """The first value that was equal to this one."""
        return self._known.setdefault(value, value)


def fingerprint(data: object, fields: Container[str]) -> bytes:
    """The same only if these fields of a mapping are: what was read once needn't be read again."""
    assert isinstance(data, Mapping)
    relevant = {key: value for key, value in data.items() if key in fields}
    # From version 3 on, the bytes would tell shared parts from equal ones.
    return marshal.dumps(relevant, 2)
