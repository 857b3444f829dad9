"""What differs between two files of settings or policies, field by field, in the words of the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import json

from rota.api.service import ChangedField

_NAMES = ("name", "path", "project", "user", "queue")
"""What entries of lists are known by, where they have one."""
_LONGEST = 200


def differences(before: object, after: object) -> list[ChangedField]:
    """Of plain data: fields that were added, removed or changed."""
    old, new = dict(_leaves(before, "")), dict(_leaves(after, ""))
    return [
        ChangedField(field=field, before=old.get(field), after=new.get(field))
        for field in dict.fromkeys((*old, *new))
        if old.get(field) != new.get(field)
    ]


def _leaves(data: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list | tuple) and data and all(isinstance(one, Mapping) for one in data):
        for index, one in enumerate(data):
            yield from _leaves(one, f"{path}[{_name(one, index)}]")
    elif data is not None or path:
        yield path, _text(data)


def _name(entry: Mapping[Any, Any], index: int) -> str:
    return next((str(entry[key]) for key in _NAMES if isinstance(entry.get(key), str)), str(index))


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.encode(value, enc_hook=str).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
