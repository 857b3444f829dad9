"""Where values come from: files, the environment, flags. Each is named, so that errors can."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from rota.settings.errors import SettingsError
from rota.settings.keys import is_section, kind_of, kinds, unknown_key
from rota.settings.settings import Settings
from rota.settings.toml_lines import KeyPath, lines_of_keys, nearest_line

COMMAND_LINE = "command line"

_PREFIX = "ROTA_"
_SHORT_VARIABLES: dict[str, KeyPath] = {
    "ROTA_CONTEXT": ("client", "context"),
    "ROTA_URL": ("client", "url"),
    "ROTA_CA": ("client", "ca_file"),
}
"""What people set often, by names that are easy to remember."""


class Given(NamedTuple):
    """A value as it was given."""

    path: KeyPath
    value: object
    origin: str
    folder: str = ""
    """Which relative paths are relative to; empty: the current one."""
    is_text: bool = False


def of_file(file: str) -> Iterator[Given]:
    try:
        with open(file, "rb") as stream:
            text = stream.read().decode()
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise SettingsError(file, "", "there is no such file", "check the path") from None
    except UnicodeDecodeError:
        raise SettingsError(file, "", "is not UTF-8 text", "save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(file, "", f"cannot be read: {error.strerror}", "check the path") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(file, "", f"not valid TOML: {error}", "correct it") from None
    lines = lines_of_keys(text)
    folder = os.path.dirname(os.path.abspath(file))
    for path, value in _walk(data, (), file, lines):
        yield Given(path, value, _origin(file, lines, path), folder)


def _walk(
    table: Mapping[str, Any], path: KeyPath, file: str, lines: Mapping[KeyPath, int]
) -> Iterator[tuple[KeyPath, object]]:
    for key, value in table.items():
        inner = (*path, key)
        if is_section(inner):
            if not isinstance(value, dict):
                raise SettingsError(
                    _origin(file, lines, inner), ".".join(inner), "is a section", f"write [{'.'.join(inner)}]"
                )
            if not value and len(inner) == 2 and inner[0] == "backends":
                raise SettingsError(
                    _origin(file, lines, inner),
                    ".".join(inner),
                    "says nothing",
                    'write at least kind = "kubernetes"',
                )
            yield from _walk(value, inner, file, lines)
        elif kind_of(inner) is None:
            raise unknown_key(inner, _origin(file, lines, inner))
        else:
            yield inner, value


def _origin(file: str, lines: Mapping[KeyPath, int], path: KeyPath) -> str:
    line = nearest_line(lines, path)
    return file if line is None else f"{file}:{line}"


def variable_of(path: KeyPath) -> str:
    """The variable that sets the key, as in ROTA_SERVER_PORT."""
    return _PREFIX + "_".join(path).upper()


def of_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    ours = {name: value for name, value in environ.items() if name.startswith(_PREFIX)}
    if not ours:
        # Most commands: they needn't wait until all settings there are have been looked through.
        return
    by_variable = {variable_of(path): path for path in kinds()} | _SHORT_VARIABLES
    # Jobs find names like ROTA_JOB_ID in their environment: those aren't ours.
    prefixes = tuple(f"{variable_of((section,))}_" for section in Settings.__struct_fields__)
    for variable, value in sorted(ours.items()):
        if variable in by_variable:
            yield Given(by_variable[variable], value, variable, is_text=True)
        elif variable.startswith(prefixes):
            meant = get_close_matches(variable, by_variable, n=1)
            remedy = f"did you mean {meant[0]}?" if meant else "docs/settings.md lists them"
            raise SettingsError(variable, "", "there is no such setting", remedy)


def of_flags(flags: Mapping[str, object]) -> Iterator[Given]:
    for key, value in flags.items():
        path = tuple(key.split("."))
        if value is None:
            continue
        if kind_of(path) is None:
            raise unknown_key(path, COMMAND_LINE)
        yield Given(path, value, COMMAND_LINE, is_text=True)
