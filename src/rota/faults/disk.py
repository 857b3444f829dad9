"""A disk: what was written is there for whoever reads it, and survives a loss of power once it was synced.

Records are framed by length and checksum, as every log does it that has to find its own end again.
"""

from __future__ import annotations

from random import Random
from struct import Struct
from zlib import crc32

_FRAME = Struct("<II")


class Disk:
    def __init__(self) -> None:
        self._bytes = bytearray()
        self._synced = 0

    def append(self, record: bytes) -> None:
        self._bytes += _FRAME.pack(len(record), crc32(record)) + record

    def sync(self) -> None:
        self._synced = len(self._bytes)

    def lose_power(self, chance: Random) -> str:
        """Of what wasn't synced all may be there, nothing, or a part whose end is garbage. Tells which."""
        unsynced = len(self._bytes) - self._synced
        if not unsynced:
            return "nothing was under way"
        match chance.randrange(3):
            case 0:
                return f"{unsynced} unsynced bytes survived"
            case 1:
                del self._bytes[self._synced :]
                return f"{unsynced} unsynced bytes were lost"
            case _:
                left = chance.randrange(unsynced)
                del self._bytes[self._synced + left :]
                self._bytes += chance.randbytes(chance.randrange(16))
                return f"{unsynced} unsynced bytes were torn after {left}"

    def recover(self) -> list[bytes]:
        """All whole records. What follows them is cut off, and what is left is safe from then on."""
        records: list[bytes] = []
        at = 0
        while at + _FRAME.size <= len(self._bytes):
            length, checksum = _FRAME.unpack_from(self._bytes, at)
            record = bytes(self._bytes[at + _FRAME.size : at + _FRAME.size + length])
            if len(record) < length or crc32(record) != checksum:
                break
            records.append(record)
            at += _FRAME.size + length
        del self._bytes[at:]
        self.sync()
        return records
