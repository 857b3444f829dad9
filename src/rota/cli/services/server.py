"""`rota server`: reads the settings and starts the server."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from rota.cli.output import talk
from rota.settings.load import Resolved, resolve_settings
from rota.settings.paths import default_files


def serve(files: Sequence[str], flags: Mapping[str, object]) -> int:
    """The exit code, once the server has ended."""
    environ = dict(os.environ)

    def resolve() -> Resolved:
        return resolve_settings((*default_files(environ), *files), environ, flags)

    resolved = resolve()
    settings = resolved.settings
    if flags.get("server.database") and urlsplit(settings.server.database).password:
        talk(
            "other users of this machine can see the password in --database: set server.database in a file "
            "of your own, or ROTA_SERVER_DATABASE"
        )
    from rota.server.run import run_server
    from rota.server.service.preflight import preflight
    from rota.server.service.reloading import SettingsSource

    refusals = [one for one in preflight(settings, is_start=True) if not one.is_warning]
    for one in refusals:
        print(f"rota: {one.text}", file=sys.stderr)
    if refusals:
        return 1
    return run_server(SettingsSource(resolved, resolve))
