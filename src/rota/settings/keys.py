"""Which keys there are, and how the value of each is read: all from the types in `settings`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from msgspec import inspect

from rota.settings.errors import SettingsError
from rota.settings.kinds import Kind
from rota.settings.settings import Context, Settings
from rota.settings.toml_lines import KeyPath

_CONTEXTS = ("client", "contexts")


@cache
def kinds() -> Mapping[KeyPath, Kind]:
    return dict(_kinds_of(inspect.type_info(Settings), ()))


@cache
def _context_kinds() -> Mapping[str, Kind]:
    return {path[0]: kind for path, kind in _kinds_of(inspect.type_info(Context), ())}


def _kinds_of(wanted: inspect.Type, path: KeyPath) -> Iterator[tuple[KeyPath, Kind]]:
    if isinstance(wanted, inspect.StructType):
        for field in wanted.fields:
            yield from _kinds_of(field.type, (*path, field.encode_name))
    elif not isinstance(wanted, inspect.DictType):
        yield path, Kind(wanted)


def kind_of(path: KeyPath) -> Kind | None:
    if path[:2] == _CONTEXTS:
        return _context_kinds().get(path[3]) if len(path) == 4 else None
    return kinds().get(path)


def _section_paths() -> set[KeyPath]:
    return {path[:length] for path in kinds() for length in range(1, len(path))} | {_CONTEXTS}


def _known_beside(path: KeyPath) -> list[str]:
    if path[:2] == _CONTEXTS:
        return list(_context_kinds()) if len(path) == 4 else []
    around = path[:-1]
    known = {*kinds(), *_section_paths()}
    return sorted(
        {one[len(around)] for one in known if one[: len(around)] == around and len(one) > len(around)}
    )


_GONE = {
    ("server", "history", "succeeded"): "jobs are kept by age now: set server.history.ttl or .most_jobs",
    ("server", "history", "failed"): "jobs are kept by age now: set server.history.ttl or .most_jobs",
}
"""Keys of earlier versions, and what to do instead."""


def unknown_key(path: KeyPath, origin: str) -> SettingsError:
    if path in _GONE:
        return SettingsError(origin, ".".join(path), "is no longer a setting", _GONE[path])
    meant = get_close_matches(path[-1], _known_beside(path), n=1)
    remedy = f"did you mean '{meant[0]}'?" if meant else f"known: {', '.join(_known_beside(path))}"
    return SettingsError(origin, ".".join(path[:-1]), f"unknown key '{path[-1]}'", remedy)


def is_section(path: KeyPath) -> bool:
    return path in _section_paths() or (path[:2] == _CONTEXTS and len(path) == 3)
