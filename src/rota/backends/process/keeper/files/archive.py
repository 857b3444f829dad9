"""Unpacks tar archives, compressed or not, that anybody may have made.

What they take on disk is counted before it is written: a few kilobytes can say that they are terabytes.
"""

from __future__ import annotations

import lzma
import os
import posixpath
import stat
import tarfile
import zlib
from itertools import takewhile
from operator import eq
from typing import IO, BinaryIO, cast

from rota.backends.process.beneath import Leaves, parent_of, parts_of
from rota.backends.process.keeper.files.tar_stream import MOST_HEADER_BYTES, TarStream, TooMuch
from rota.model.quantities import format_bytes

MOST_UNPACKED_BYTES = 4 << 30
"""Of jobs that don't say how much storage they need."""
MOST_MEMBERS = 1_000_000
MOST_DEPTH = 256
"""Of folders in folders: each has to be entered to be removed again."""
_BLOCK_BYTES = 4096
"""The least that a file, a folder or a link takes on disk."""
_COPY_BYTES = 1 << 20
_LONGEST_NAME_BYTES = 255
_LONGEST_TARGET_BYTES = 4095
_EXECUTABLE = 0o100


class BadArchive(Exception):
    """It can't be unpacked; the text names the member."""


def unpack(
    file: BinaryIO, folder: int, prefix: tuple[str, ...], most_bytes: int = MOST_UNPACKED_BYTES
) -> int:
    """How many bytes that takes on disk. All members go below `prefix`. What was unpacked before a bad
    member stays: the caller throws the folder away."""
    stream = TarStream(file, most_bytes)
    try:
        with tarfile.TarFile(fileobj=cast(IO[bytes], stream)) as archive:
            return _Unpacking(archive, stream, folder, prefix, most_bytes).all_members()
    except TooMuch as error:
        raise BadArchive(str(error)) from error
    except OSError as error:
        # Decompressors raise it, too, for what they can't read.
        if error.errno is not None:
            raise
        raise _unreadable(error) from error
    except (
        tarfile.TarError,
        EOFError,
        zlib.error,
        lzma.LZMAError,
        ValueError,
        OverflowError,
        RecursionError,
        MemoryError,
    ) as error:
        raise _unreadable(error) from error


class _Unpacking:
    def __init__(
        self,
        archive: tarfile.TarFile,
        stream: TarStream,
        folder: int,
        prefix: tuple[str, ...],
        most_bytes: int,
    ) -> None:
        self._archive = archive
        self._stream = stream
        self._folder = folder
        self._prefix = prefix
        self._most_bytes = most_bytes
        self._taken_bytes = 0
        self._before: tuple[str, ...] = prefix
        """The path of the member before."""

    def all_members(self) -> int:
        for count in range(MOST_MEMBERS + 1):
            if (member := self._next()) is None:
                return self._taken_bytes
            if count == MOST_MEMBERS:
                break
            try:
                self._unpack(member)
            except Leaves as error:
                raise BadArchive(f"member {_shown(member)}: {error}") from error
            except FileExistsError as error:
                raise BadArchive(f"member {_shown(member)} is there already") from error
        raise BadArchive(f"has more than {MOST_MEMBERS:,} members")

    def _next(self) -> tarfile.TarInfo | None:
        archive = self._archive
        self._stream.expect_header()
        member = archive.next()
        # Nothing goes back to them, and a million would take a gigabyte.
        archive.members = []  # type: ignore[attr-defined]
        if sum(len(key) + len(value) for key, value in archive.pax_headers.items()) > MOST_HEADER_BYTES:
            raise TooMuch(f"says more than {MOST_HEADER_BYTES >> 10} KiB about all of its members")
        return member

    def _unpack(self, member: tarfile.TarInfo) -> None:
        if member.isdir() and posixpath.normpath(member.name) == ".":
            return
        parts = self._prefix + parts_of(member.name)
        self._count(member, parts)
        if member.isdir():
            with parent_of(self._folder, (*parts, ""), make=True):
                return
        with parent_of(self._folder, parts, make=True) as parent:
            if member.issym():
                check_target(member, len(parts) - len(self._prefix) - 1)
                os.symlink(member.linkname, parts[-1], dir_fd=parent)
            elif member.islnk():
                self._link(member, parts[-1], parent)
            elif member.isreg() and not member.issparse():
                self._write(member, parts[-1], parent)
            else:
                raise BadArchive(
                    f"member {_shown(member)} is a device, a pipe or a sparse file; "
                    "only files, folders and links may be in it"
                )

    def _count(self, member: tarfile.TarInfo, parts: tuple[str, ...]) -> None:
        """What it takes on disk at most, with the folders that may have to be made for it. A link to a file
        counts as one more of it: it becomes one where the folder is copied."""
        if len(parts) > MOST_DEPTH:
            raise BadArchive(f"member {_shown(member)}: lies more than {MOST_DEPTH} folders deep")
        _check_names(member, parts)
        if member.size < 0:
            raise BadArchive(f"member {_shown(member)}: its size is {member.size}")
        shared = sum(1 for _ in takewhile(bool, map(eq, parts, self._before)))
        self._before = parts
        size_bytes = self._size_of_target(member) if member.islnk() else member.size
        self._taken_bytes += (len(parts) - shared) * _BLOCK_BYTES + size_bytes
        if self._taken_bytes > self._most_bytes:
            raise BadArchive(
                f"member {_shown(member)}: with all before it, it takes more than "
                f"{format_bytes(self._most_bytes)}; a job that needs more says so with resources.storage"
            )

    def _size_of_target(self, member: tarfile.TarInfo) -> int:
        target = self._prefix + parts_of(member.linkname)
        try:
            with parent_of(self._folder, target, make=False) as parent:
                found = os.stat(target[-1], dir_fd=parent, follow_symlinks=False)
        except (FileNotFoundError, Leaves) as error:
            raise _no_target(member) from error
        # Of a symbolic link, another name would lead elsewhere.
        if not stat.S_ISREG(found.st_mode):
            raise _no_target(member)
        return found.st_size

    def _link(self, member: tarfile.TarInfo, name: str, parent: int) -> None:
        target = self._prefix + parts_of(member.linkname)
        with parent_of(self._folder, target, make=False) as source:
            os.link(target[-1], name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)

    def _write(self, member: tarfile.TarInfo, name: str, parent: int) -> None:
        mode = 0o755 if member.mode & _EXECUTABLE else 0o644
        target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=parent)
        self._stream.expect_content()
        left_bytes = member.size
        with os.fdopen(target, "wb", buffering=0) as out:
            while left_bytes:
                data = self._stream.read(min(_COPY_BYTES, left_bytes))
                if not data:
                    raise tarfile.ReadError("unexpected end of data")
                left_bytes -= len(data)
                rest = memoryview(data)
                while rest:
                    rest = rest[out.write(rest) :]


def _check_names(member: tarfile.TarInfo, parts: tuple[str, ...]) -> None:
    """No file system of Linux takes longer ones."""
    if any(_bytes_in(part) > _LONGEST_NAME_BYTES for part in parts):
        raise BadArchive(
            f"member {_shown(member)}: a name in its path is longer than {_LONGEST_NAME_BYTES} bytes"
        )
    if _bytes_in(member.linkname) > _LONGEST_TARGET_BYTES:
        raise BadArchive(
            f"member {_shown(member)}: links to a path of more than {_LONGEST_TARGET_BYTES} bytes"
        )


def _bytes_in(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _unreadable(error: Exception) -> BadArchive:
    return BadArchive(f"is not a tar archive that can be read: {str(error) or type(error).__name__}")


def _no_target(member: tarfile.TarInfo) -> BadArchive:
    return BadArchive(f"member {_shown(member)} links to {member.linkname[:200]!r}, which is no file in it")


def _shown(member: tarfile.TarInfo) -> str:
    return repr(member.name[:200])


def check_target(member: tarfile.TarInfo, depth: int) -> None:
    """A link may go up only from where it lies: after a name, which may be a link itself, '..' could
    lead anywhere."""
    target = member.linkname
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    if "\0" in target or target.startswith("/") or ups > depth or ".." in parts[ups:]:
        raise BadArchive(f"member {member.name!r} is a link to {target!r}, which leaves the folder")
