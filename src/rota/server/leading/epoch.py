"""The first step of a new leader: it begins an epoch, so that nothing from before is mistaken for something
new.

A file beside the logs says how far numbers of jobs and epochs have come. A database that is behind it was put
back from a copy: its numbers go on where those in the folders end, and fences where no task has had one. See
docs/decisions/0013-epochs.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from rota.backends.process.folders import Folders
from rota.clock import now_ms
from rota.store.store import Store
from rota.trust.private_file import write_private

log = structlog.get_logger()

_FILE = "epoch.json"
_NUMBER = re.compile(r"([0-9]{1,12})(?:\.[0-9]{1,8})?", re.ASCII)


class EpochError(Exception):
    """Why the server can't lead, and what to do."""


class Reached(Struct, frozen=True):
    epoch: int = 0
    number: int = 0
    """Of jobs: the highest that may have been given out."""


def begin_epoch(store: Store, folder: Path, kept: Iterable[Folders]) -> int:
    """`folder`: where the file is. `kept`: where tasks' logs and outputs are, which tell the numbers of jobs
    where there is no such file yet. Raises EpochError, and StoreError."""
    path = folder / _FILE
    try:
        before = _read(path)
        if before is None:
            before = Reached(number=max((_highest_number(one) for one in kept), default=0))
        number = store.numbers.skip(0)
        if number < before.number:
            log.warning(
                "store.restored",
                highest_in_database=number,
                next=before.number + 1,
            )
            number = store.numbers.skip(before.number)
        epoch = store.begin_epoch(max(before.epoch + 1, now_ms() // 1000))
        _write(path, Reached(epoch, number))
    except OSError as error:
        raise EpochError(
            f"{error.filename or path} can't be used: {error.strerror}; let the server write there"
        ) from None
    store.numbers.note_by(lambda up_to: _write(path, Reached(epoch, up_to)))
    return epoch


def _read(path: Path) -> Reached | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Reached)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise EpochError(
            f"{path} can't be read: {error}; remove it: numbers are then taken from the folders beside it"
        ) from None


def _write(path: Path, reached: Reached) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, msgspec.json.encode(reached))


def _highest_number(folders: Folders) -> int:
    names = [name for folder in (folders.logs, folders.outputs) for name in _names_in(folder)]
    return max((int(match[1]) for name in names if (match := _NUMBER.fullmatch(name))), default=0)


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
