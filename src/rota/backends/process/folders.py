"""Where the backend keeps what: the only place that knows the names of its files."""

from __future__ import annotations

import re
from pathlib import Path

from rota.model.ids import JobId

_SAFE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,199}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Folders:
    """Of one backend. Only its owner may look inside: logs and scripts are nobody else's business."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.socket = self.root / "keeper.sock"
        self.lock = self.root / "keeper.lock"
        self.notes = self.root / "keeper.log"
        self.journal = self.root / "journal"
        self.lease = self.root / "lease"
        self.rooms = self.root / "rooms"
        self.logs = self.root / "logs"
        self.files = self.root / "files"
        self.outputs = self.root / "outputs"

    def make(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.rooms, self.logs, self.files, self.outputs):
            folder.mkdir(mode=0o700, exist_ok=True)

    def logs_of(self, job: JobId) -> Path:
        return self.logs / as_name(job)

    def outputs_of(self, job: JobId) -> Path:
        return self.outputs / as_name(job)

    def outputs_of_task(self, job: JobId, rank: int) -> Path:
        return self.outputs_of(job) / str(rank)

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
