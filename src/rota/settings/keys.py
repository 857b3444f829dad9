"""Which keys there are, and how the value of each is read: all from the types in `settings`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from msgspec import inspect

from rota.settings.errors import SettingsError
from rota.settings.kinds import Kind
from rota.settings.settings import BackendSettings, Context, Section, Settings
from rota.settings.toml_lines import KeyPath

_BY_NAME: Mapping[KeyPath, type[Section]] = {
    ("client", "contexts"): Context,
    ("backends",): BackendSettings,
}
"""Sections whose tables have names that people choose."""


@cache
def kinds() -> Mapping[KeyPath, Kind]:
    return dict(_kinds_of(inspect.type_info(Settings), ()))


@cache
def _named_kinds(section: KeyPath) -> Mapping[str, Kind]:
    return {path[0]: kind for path, kind in _kinds_of(inspect.type_info(_BY_NAME[section]), ())}


def _named_section(path: KeyPath) -> KeyPath | None:
    return next((section for section in _BY_NAME if path[: len(section)] == section), None)


def _kinds_of(wanted: inspect.Type, path: KeyPath) -> Iterator[tuple[KeyPath, Kind]]:
    if isinstance(wanted, inspect.StructType):
        for field in wanted.fields:
            yield from _kinds_of(field.type, (*path, field.encode_name))
    elif not isinstance(wanted, inspect.DictType):
        yield path, Kind(wanted)


def kind_of(path: KeyPath) -> Kind | None:
    section = _named_section(path)
    if section is not None:
        return _named_kinds(section).get(path[-1]) if len(path) == len(section) + 2 else None
    return kinds().get(path)


def _section_paths() -> set[KeyPath]:
    return {path[:length] for path in kinds() for length in range(1, len(path))} | {*_BY_NAME}


def _known_beside(path: KeyPath) -> list[str]:
    section = _named_section(path)
    if section is not None:
        return list(_named_kinds(section)) if len(path) == len(section) + 2 else []
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
    section = _named_section(path)
    return path in _section_paths() or (section is not None and len(path) == len(section) + 1)
