"""Settings put together from files, the environment and flags, with where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from rota.model.quantities import QuantityError
from rota.settings.checks import check
from rota.settings.errors import SettingsError
from rota.settings.keys import kind_of
from rota.settings.paths import agent_folder, data_folder, expand_home
from rota.settings.settings import Settings
from rota.settings.sources import Given, of_environment, of_file, of_flags
from rota.settings.toml_lines import KeyPath

DEFAULT = "default"


class Setting(Struct, frozen=True):
    """One value, as `rota config check` shows it."""

    key: str
    value: object
    """Passwords are left out."""
    origin: str
    """A file with its line, a variable, the command line, or "default"."""


class Resolved(Struct, frozen=True):
    settings: Settings
    origins: Mapping[KeyPath, str]
    """Of those that were given."""

    def rows(self) -> tuple[Setting, ...]:
        """Every setting there is, in order."""
        plain = msgspec.to_builtins(self.settings)
        return tuple(
            Setting(".".join(path), _shown(value, path), self.origins.get(path, DEFAULT))
            for path, value in _leaves(plain, ())
        )


def load_settings(
    files: Sequence[str | os.PathLike[str]], environ: Mapping[str, str], flags: Mapping[str, object]
) -> Settings:
    """`flags` by key, as in {"server.port": 8080}; None stands for one that wasn't given."""
    return resolve_settings(files, environ, flags).settings


def resolve_settings(
    files: Sequence[str | os.PathLike[str]], environ: Mapping[str, str], flags: Mapping[str, object]
) -> Resolved:
    """Later files win over earlier ones, the environment over files, and flags over all."""
    values: dict[KeyPath, Any] = {}
    origins: dict[KeyPath, str] = {}
    for given in (
        *(one for file in files for one in of_file(os.fspath(file))),
        *of_environment(environ),
        *of_flags(flags),
    ):
        values[given.path] = _read(given, environ)
        origins[given.path] = given.origin
    values.setdefault(("server", "data"), data_folder(environ))
    values.setdefault(("agent", "data"), agent_folder(environ))
    settings = msgspec.convert(_nested(values), Settings)
    check(settings, lambda path: origins.get(path, DEFAULT))
    return Resolved(settings, origins)


def _read(given: Given, environ: Mapping[str, str]) -> Any:
    kind = kind_of(given.path)
    assert kind is not None
    try:
        value = kind.read(given.value, is_text=given.is_text)
    except QuantityError as error:
        raise SettingsError(given.origin, ".".join(given.path), error.problem, error.remedy) from None
    if kind.is_path and value:
        return os.path.join(given.folder, expand_home(value, environ))
    return value


def _nested(values: Mapping[KeyPath, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        inner = tree
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
    return tree


def _leaves(tree: Mapping[str, Any], path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _shown(value: object, path: KeyPath) -> object:
    kind = kind_of(path)
    if kind is None or not kind.is_secret or not isinstance(value, str):
        return value if kind is None else kind.written(value)
    parts = urlsplit(value)
    if parts.password is None:
        return value
    return parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")).geturl()
