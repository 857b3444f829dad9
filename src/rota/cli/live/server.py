"""`rota server`: settings put together, and the server started with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from rota.settings.load import load_settings
from rota.settings.paths import default_files


def serve(files: Sequence[str], flags: Mapping[str, object]) -> int:
    """The exit code, once the server has ended."""
    settings = load_settings((*default_files(os.environ), *files), os.environ, flags)
    from rota.server.run import run_server

    return run_server(settings)
