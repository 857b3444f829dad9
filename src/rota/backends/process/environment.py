"""The environment that keepers and tasks begin with."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def base_environment(keepers: Mapping[str, str]) -> dict[str, str]:
    """What every task gets: nothing else of the keeper's own reaches it."""
    try:
        user = pwd.getpwuid(os.getuid())
        name, home = user.pw_name, user.pw_dir
    except KeyError:
        name, home = str(os.getuid()), "/"
    defaults = {"PATH": DEFAULT_PATH, "HOME": home, "LANG": "C.UTF-8", "USER": name}
    return {name: keepers.get(name, default) for name, default in defaults.items()}
