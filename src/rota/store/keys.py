"""The number a job's row is known by: from its id, and in the order in which jobs came in.

    "17" → 17 · 2²⁴        "17.0" → 17 · 2²⁴ + 1        "17.1" → 17 · 2²⁴ + 2

All jobs of an array lie side by side, and one whole number says where a page of jobs ends.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rota.model.ids import JobId

_PLACES = 1 << 24
"""Of an array's number: one for the number itself, the others for its elements."""
_MAX_NUMBER = (1 << 39) - 1
"""So that keys have 63 bits."""
_ID = re.compile(r"(0|[1-9][0-9]{0,11})(?:\.(0|[1-9][0-9]{0,7}))?", re.ASCII)


def key_of(job: JobId) -> int:
    key = find_key(job)
    if key is None:
        raise ValueError(f"{job!r} is not an id of a job")
    return key


@lru_cache(1 << 16)
def find_key(job: str) -> int | None:
    """None: no job can have this id."""
    match = _ID.fullmatch(job)
    if match is None:
        return None
    number = int(match[1])
    place = 0 if match[2] is None else int(match[2]) + 1
    return number * _PLACES + place if number <= _MAX_NUMBER and place < _PLACES else None


def id_of(key: int) -> JobId:
    number, place = divmod(key, _PLACES)
    return JobId(f"{number}.{place - 1}" if place else f"{number}")


def number_of(key: int) -> int:
    """What the id begins with: the same for all elements of an array."""
    return key // _PLACES


def first_key(number: int) -> int:
    """Of all whose id begins with the number."""
    return number * _PLACES


def keys_of_array(number: int) -> range:
    """Empty for a number that no job can have."""
    if number > _MAX_NUMBER:
        return range(0)
    return range(number * _PLACES + 1, (number + 1) * _PLACES)
