"""What is read, written back in the form of a file. Beside each reader stands the function that undoes it."""

from collections.abc import Mapping
from typing import Any

from rota.model.quantities import format_duration, format_timestamp

Plain = dict[str, Any]


def given(fields: Mapping[str, Any]) -> Plain:
    return {name: value for name, value in fields.items() if value not in (None, "", False, [], {})}


def unless(value: Any, default: Any) -> Any:
    return None if value is default else value.value


def timestamp_text(timestamp_ms: int | None) -> str | None:
    return None if timestamp_ms is None else format_timestamp(timestamp_ms)


def duration_text(duration_ms: int | None) -> str | None:
    return None if duration_ms is None else format_duration(duration_ms)
