"""Finds the keeper, or starts one, detached from whoever needs it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence

from rota.backends.backend import BackendUnavailable, TaskReport
from rota.backends.process.client.link import Link
from rota.backends.process.environment import base_environment
from rota.backends.process.folders import Folders
from rota.backends.process.options import ALREADY_KEPT, UNFIT, KeeperOptions
from rota.launch.account import has_rights


class Launch:
    """To be called: a connection to the keeper of this folder, whoever started it."""

    def __init__(self, folders: Folders, options: KeeperOptions) -> None:
        self._folders = folders
        self._options = options

    async def __call__(self, on_reports: Callable[[Sequence[TaskReport]], None]) -> Link:
        try:
            return await Link.open(self._folders, on_reports)
        except (ConnectionError, FileNotFoundError):
            if self._options.confinement.isolation.needs_rights and not has_rights():
                raise BackendUnavailable(
                    f"there is no keeper at {self._folders.socket}, and only one that may start jobs as "
                    "other accounts will do: start rota-keeper.service"
                ) from None
            await _launch(self._folders, self._options)
        try:
            return await Link.open(self._folders, on_reports)
        except (ConnectionError, FileNotFoundError) as error:
            raise BackendUnavailable(f"no connection to the keeper: {error}") from error


async def _launch(folders: Folders, options: KeeperOptions) -> None:
    """Returns once there is one to connect to. What it has to say to an operator is in its notes."""
    folders.make()
    # Nothing of the server's environment is its business: there may be secrets.
    environment = base_environment(os.environ)
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    notes = os.open(folders.notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        keeper = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "rota.backends.process.keeper",
            str(folders.root),
            options.written(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=notes,
            stderr=notes,
            env=environment,
            cwd="/",
        )
    finally:
        os.close(notes)
    status = await keeper.wait()
    if status == UNFIT:
        *_, why = folders.notes.read_text().rstrip().rpartition("rota: ")
        raise BackendUnavailable(why)
    if status not in (0, ALREADY_KEPT):
        raise BackendUnavailable(f"the keeper doesn't start; see {folders.notes}")
