"""`rota keeper`: reads the settings; this process then becomes the keeper."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rota.cli.agents.agent import LOG_SEGMENTS
from rota.settings.load import load_settings
from rota.settings.paths import default_files


def keep(files: Sequence[str], flags: Mapping[str, object], *, for_server: bool) -> int:
    """The exit code, if the keeper can't start."""
    settings = load_settings((*default_files(os.environ), *files), os.environ, flags)
    from rota.backends.process.client.isolation_options import confinement_of, is_root_refused
    from rota.backends.process.folders import Folders
    from rota.backends.process.keeper.streams.log_writer import Rotation
    from rota.backends.process.options import FOREGROUND, KeeperOptions

    worker = settings.worker
    if refused := is_root_refused(worker):
        print(f"rota: {refused}", file=sys.stderr)
        return 1
    options = KeeperOptions(
        Rotation(max(1, settings.server.limits.log_bytes // LOG_SEGMENTS), LOG_SEGMENTS),
        idle_ms=None,
        start_within_ms=worker.start_within_ms,
        most_processes=worker.pids,
        most_storage_bytes=worker.storage_bytes,
        is_leased=not for_server,
        confinement=confinement_of(
            worker, is_shared=True, hidden=(settings.server.data, settings.agent.data)
        ),
    )
    folder = Path(settings.server.data) / "worker" if for_server else Path(settings.agent.data)
    try:
        Folders(folder).make()
    except OSError as error:
        print(f"rota: {folder} can't be used: {error.strerror}; give another with --data", file=sys.stderr)
        return 1
    # A new program, without the modules of commands: each task's process starts as a copy of it.
    module = "rota.backends.process.keeper"
    os.execv(sys.executable, [sys.executable, "-m", module, str(folder), options.written(), FOREGROUND])
