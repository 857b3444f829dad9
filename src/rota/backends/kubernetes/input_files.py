"""A task's input files as one archive: checked here, so that the pod gets all of them or none."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from rota.backends.process.folders import Folders
from rota.backends.process.keeper.files.rooms import Room
from rota.backends.process.keeper.files.staging import StagingFailed, stage
from rota.model.run import Run

COMPLETE = ".rota-complete"
"""The last member: without it, the archive was cut off."""
__all__ = ["COMPLETE", "StagingFailed", "archive_of"]


def archive_of(run: Run, folders: Folders) -> IO[bytes]:
    """At its beginning. Raises StagingFailed. Waits for the disk."""
    archive = tempfile.TemporaryFile(dir=folders.rooms)  # noqa: SIM115 – whoever asked closes it
    try:
        with tempfile.TemporaryDirectory(dir=folders.rooms) as folder:
            room = Room(Path(folder), 0)
            room.path.mkdir()
            stage(_without_directory(run), folders, room)
            with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
                for path in sorted(room.work.iterdir()):
                    tar.add(path, arcname=path.name, filter=_nobodys)
                tar.addfile(_nobodys(tarfile.TarInfo(COMPLETE)), io.BytesIO())
        archive.seek(0)
        return archive
    except BaseException:
        archive.close()
        raise


def _without_directory(run: Run) -> Run:
    return Run(files=run.files)


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    if member.isdir():
        # Whoever the image runs as works here.
        member.mode |= 0o777
    return member
