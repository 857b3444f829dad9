"""Where files of Rota are, by the XDG base directory rules: https://specifications.freedesktop.org/basedir-spec."""

from __future__ import annotations

import os
from collections.abc import Mapping

FILE_NAME = "rota.toml"
SYSTEM_FILE = "/etc/rota/rota.toml"

Environ = Mapping[str, str]


def user_file(environ: Environ) -> str:
    """Where a user keeps settings and contexts."""
    return os.path.join(_base(environ, "XDG_CONFIG_HOME", ".config"), "rota", FILE_NAME)


def data_folder(environ: Environ) -> str:
    return os.path.join(_base(environ, "XDG_DATA_HOME", ".local/share"), "rota")


def agent_folder(environ: Environ) -> str:
    """Beside that of a server: a machine may run both."""
    return os.path.join(_base(environ, "XDG_DATA_HOME", ".local/share"), "rota-agent")


def default_files(environ: Environ) -> tuple[str, ...]:
    """Those that are there, later ones winning: the machine's, the user's, and the one of ROTA_CONFIG,
    which must be there."""
    found = [path for path in (SYSTEM_FILE, user_file(environ)) if os.path.exists(path)]
    named = environ.get("ROTA_CONFIG")
    return (*found, named) if named else tuple(found)


def expand_home(path: str, environ: Environ) -> str:
    if path == "~" or path.startswith("~/"):
        return _home(environ) + path[1:]
    return path


def _base(environ: Environ, variable: str, below_home: str) -> str:
    """By those rules a relative path is to be ignored."""
    stated = environ.get(variable, "")
    return stated if os.path.isabs(stated) else os.path.join(_home(environ), below_home)


def _home(environ: Environ) -> str:
    return environ.get("HOME") or os.path.expanduser("~")
