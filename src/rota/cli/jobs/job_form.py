"""A job of a file, with what was given in options."""

from __future__ import annotations

from collections.abc import Mapping

_ADDED_TO = ("depends_on", "files")


def merged(job: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """A job of a file with what was given on the command line, which goes first. Mappings are merged."""
    result = dict(job)
    for field, value in given.items():
        there = result.get(field)
        if isinstance(there, dict) and isinstance(value, dict):
            result[field] = {**there, **value}
        elif isinstance(there, list) and isinstance(value, list) and field in _ADDED_TO:
            result[field] = [*there, *value]
        else:
            result[field] = value
    return result
