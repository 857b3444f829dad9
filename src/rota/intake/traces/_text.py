"""The bytes of a trace, unpacked if need be, and errors that point into its lines."""

import zlib
from typing import NamedTuple

from rota.intake.errors import InputError, Position

MAX_BYTES = 512 * 2**20
"""Of a trace, packed and unpacked: the largest of the public archives has some 100 MB."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_FORMAT = 31
_CHUNK = 64 * 2**10


class Line(NamedTuple):
    file: str
    number: int
    text: str

    def error(self, column: int, name: str, problem: str, remedy: str = "") -> InputError:
        """`column` counts characters from 1; `name` is what the format calls this column, if anything."""
        path = (name,) if name else ()
        return InputError(self.file, problem, remedy, position=Position(self.number, column), path=path)


def lines_of(text: str, file: str) -> list[Line]:
    # Not by splitlines(): that would count form feeds and the like, which no editor does.
    return [Line(file, number, line) for number, line in enumerate(text.split("\n"), start=1)]


def is_packed(raw: bytes) -> bool:
    return raw.startswith(_GZIP_MAGIC)


def unpacked(raw: bytes, file: str, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes themselves, or what gzip made them of: as a whole, or not at all."""
    if not is_packed(raw):
        return raw
    content = bytearray()
    rest = raw
    while rest:
        rest = _unpack_member(rest, content, file, max_bytes)
        # Archives on tape are filled up with zeros.
        rest = rest.lstrip(b"\0")
    return bytes(content)


def _unpack_member(raw: bytes, content: bytearray, file: str, max_bytes: int) -> bytes:
    """Appends one member's content, and returns what comes after it."""
    unpack = zlib.decompressobj(_GZIP_FORMAT)
    for start in range(0, len(raw), _CHUNK):
        try:
            content += unpack.decompress(raw[start : start + _CHUNK])
        except zlib.error as error:
            raise _at_end(content, file, f"the gzip data are damaged: {error}") from None
        if len(content) > max_bytes:
            raise InputError(file, f"unpacked, it has more than the limit of {max_bytes:,} bytes")
        if unpack.eof:
            return unpack.unused_data + raw[start + _CHUNK :]
    raise _at_end(content, file, "the gzip data are cut off")


def _at_end(content: bytearray, file: str, problem: str) -> InputError:
    """At the last place that could still be read."""
    position = Position(content.count(b"\n") + 1, len(content) - content.rfind(b"\n"))
    return InputError(file, problem, "download the file again", position=position)
