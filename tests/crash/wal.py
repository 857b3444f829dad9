"""The end of an SQLite write-ahead log, as a loss of power may leave it.

How far the log was synced is told by SQLite itself. With `synchronous = FULL` it writes a transaction's
frames, syncs the log, and only then counts these frames in the log's index, the file `-shm`; a checkpoint
copies none that isn't counted. A killed process leaves that file as it was. So nothing up to the last
counted frame may be touched, and all that follows may be anything.
https://www.sqlite.org/walformat.html

Whether it was synced indeed is told by the kernel: a counted frame that isn't on disk may be lost as well.
"""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from tests.crash.unsynced import first_unsynced_page

_LOG_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_SECTOR_BYTES = 512
_SALTS = slice(16, 24)
"""In the header of the log. A log that begins anew has others, and overwrites what it had."""
_FRAME_SALTS = slice(8, 16)
_INDEX_HEADER = struct.Struct("=8xIB1xHI12x8s8x")
"""Changes, whether it is set up, bytes of a page, frames, salts. There are two copies."""
_COPIED = struct.Struct("=I")
"""Behind these: so many frames are in the database itself."""


class Synced(Struct, frozen=True):
    frames: int
    page_bytes: int
    salts: bytes

    @property
    def end(self) -> int:
        """The first byte that may be lost."""
        return _LOG_HEADER_BYTES + self.frames * self.frame_bytes

    @property
    def frame_bytes(self) -> int:
        return _FRAME_HEADER_BYTES + self.page_bytes


class Log:
    def __init__(self, database: Path) -> None:
        self.path = Path(f"{database}-wal")
        self._index = Path(f"{database}-shm")

    def synced(self) -> Synced | None:
        """None: nothing is in the log that may be lost."""
        try:
            index = self._index.read_bytes()[: 2 * _INDEX_HEADER.size]
            with self.path.open("rb") as file:
                header = file.read(_LOG_HEADER_BYTES)
        except FileNotFoundError:
            return None
        if len(index) < 2 * _INDEX_HEADER.size:
            return None
        # While the copies differ the newer one is being written, which happens after the sync.
        _, is_set_up, page_bytes, frames, salts = max(_INDEX_HEADER.iter_unpack(index))
        # A log that is about to begin anew: what is in the file was synced long ago.
        if not is_set_up or header[_SALTS] != salts:
            return None
        return Synced(frames, 65536 if page_bytes == 1 else page_bytes, salts)

    def unsynced_frames(self) -> int:
        """Those that are written and not counted yet; behind them may be some of an earlier time."""
        synced = self.synced()
        if synced is None:
            return 0
        frames = 0
        with self.path.open("rb") as file:
            while True:
                file.seek(synced.end + frames * synced.frame_bytes)
                if file.read(_FRAME_HEADER_BYTES)[_FRAME_SALTS] != synced.salts:
                    return frames
                frames += 1

    def _on_disk(self, counted: Synced) -> Synced:
        """Less than is counted, if what is counted isn't synced after all."""
        lost = first_unsynced_page(self.path, counted.end)
        if lost is None:
            return counted
        copied: int
        (copied,) = _COPIED.unpack_from(self._index.read_bytes(), 2 * _INDEX_HEADER.size)
        whole = max(0, lost - _LOG_HEADER_BYTES) // counted.frame_bytes
        return replace(counted, frames=min(counted.frames, max(copied, whole)))

    def damage(self, chance: Random) -> str:
        """Once its process is gone. Tells what was done."""
        synced, unsynced = self.synced(), self.unsynced_frames()
        if synced is None:
            return "the log is as it was: all of it was synced"
        synced = self._on_disk(synced)
        what = chance.choice(_DAMAGES)
        with self.path.open("r+b") as file:
            size = file.seek(0, 2)
            if size < synced.end:
                raise AssertionError(f"{self.path} has {size} bytes, and {synced.end} were synced")
            what(file, synced, size, chance)
        return f"the log is {what.__name__.strip('_')} after frame {synced.frames}; {unsynced} weren't synced"


def _cut(file: BinaryIO, synced: Synced, size: int, chance: Random) -> None:
    file.truncate(chance.randint(synced.end, size))


def _emptied(file: BinaryIO, synced: Synced, size: int, chance: Random) -> None:
    at = chance.randint(synced.end, size)
    file.seek(at)
    file.write(bytes(size - at))


def _torn(file: BinaryIO, synced: Synced, size: int, chance: Random) -> None:
    """Some sectors came through, others didn't."""
    for at in range(synced.end, size, _SECTOR_BYTES):
        if chance.random() < 0.5:
            file.seek(at)
            file.write(chance.randbytes(min(_SECTOR_BYTES, size - at)))


def _grown(file: BinaryIO, synced: Synced, size: int, chance: Random) -> None:
    """The file's new length came through, and less of what it was for."""
    file.seek(max(synced.end, size))
    begun = struct.pack(">2I", chance.randint(1, 50), 0) + synced.salts
    file.write(begun + chance.randbytes(chance.randint(0, 3 * synced.frame_bytes)))


_DAMAGES = (_cut, _emptied, _torn, _grown)
