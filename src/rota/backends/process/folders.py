"""Where the backend keeps what: the only place that knows the names of its files."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rota.backends.backend import TaskRef
from rota.lifecycle.fences import epoch_of
from rota.model.ids import JobId

_SAFE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,199}", re.ASCII)
_EPOCH = re.compile(r"e([1-9][0-9]{0,17})", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Folders:
    """Of one backend. Only its owner may look inside: logs and scripts are nobody else's business."""

    def __init__(self, root: Path, rooms: Path | None = None) -> None:
        """`rooms`: where the folders of tasks are, if not in here: others can't get in here."""
        self.root = root.absolute()
        self.socket = self.root / "keeper.sock"
        self.lock = self.root / "keeper.lock"
        self.notes = self.root / "keeper.log"
        self.journal = self.root / "journal"
        self.lease = self.root / "lease"
        self.uids = self.root / "uids.json"
        self.rooms = (rooms or self.root / "rooms").absolute()
        self.logs = self.root / "logs"
        self.files = self.root / "files"
        self.outputs = self.root / "outputs"
        self.uploaded = self.root / "uploaded"

    def make(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.rooms, self.logs, self.files, self.outputs):
            folder.mkdir(mode=0o700, exist_ok=True)

    def logs_of(self, job: JobId) -> Path:
        return self.logs / as_name(job)

    def outputs_of(self, job: JobId) -> Path:
        return self.outputs / as_name(job)

    def outputs_of_task(self, ref: TaskRef) -> Path:
        """OUTPUTS/JOB/eEPOCH/RANK: apart from those of another job that had the number before a database was
        put back. Without the epoch where there are none."""
        epoch = epoch_of(ref.fence)
        return self.outputs_of(ref.job) / (f"e{epoch}/{ref.rank}" if epoch else str(ref.rank))

    def outputs_left_by(self, ref: TaskRef) -> Path:
        """The same, or where a keeper of an older Rota has put them."""
        folder = self.outputs_of_task(ref)
        return folder if folder.exists() else self.outputs_of(ref.job) / str(ref.rank)

    def all_outputs_of_task(self, job: JobId, rank: int, epoch: int) -> list[Path]:
        """Since that epoch, the latest first. Last the folder without one, which a keeper of an older Rota
        uses as long as it runs."""
        found = [_EPOCH.fullmatch(name) for name in _names_in(self.outputs_of(job))]
        epochs = sorted((int(match[1]) for match in found if match), reverse=True)
        folders = [self.outputs_of(job) / f"e{each}" for each in epochs if each >= epoch]
        return [folder / str(rank) for folder in (*folders, self.outputs_of(job))]

    def ranks_with_outputs(self, job: JobId) -> list[int]:
        """That may have left something, in whichever epoch."""
        kept = self.outputs_of(job)
        epochs = [kept / name for name in _names_in(kept) if _EPOCH.fullmatch(name)]
        names = {name for folder in (kept, *epochs) for name in _names_in(folder)}
        return sorted(int(name) for name in names if name.isascii() and name.isdecimal())

    def file(self, sha256: str) -> Path:
        if not is_sha256(sha256):
            raise ValueError(f"sha256: {sha256!r} is not 64 lower-case hexadecimal digits")
        return self.files / sha256


def is_sha256(text: str) -> bool:
    return _SHA256.fullmatch(text) is not None


def as_name(job: JobId) -> str:
    """The job's id, once it is certain that it names a folder and nothing else."""
    if not _SAFE.fullmatch(job):
        raise ValueError(f"job: {job!r} can't be the name of a folder; letters, digits, '.', '_', '-' can")
    return job


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
