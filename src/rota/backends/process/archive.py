"""Unpacks tar archives, compressed or not, that anybody may have made."""

from __future__ import annotations

import lzma
import os
import posixpath
import shutil
import tarfile
import zlib
from typing import BinaryIO

from rota.backends.process.beneath import Leaves, parent_of, parts_of

LARGEST_UNPACKED_BYTES = 64 << 30
MOST_MEMBERS = 1_000_000
_COPY_BYTES = 1 << 20
_EXECUTABLE = 0o100


class BadArchive(Exception):
    """It can't be unpacked; the text names the member."""


def unpack(file: BinaryIO, folder: int, prefix: tuple[str, ...]) -> None:
    """All members go below `prefix`. What was unpacked before a bad member stays: the caller throws
    the folder away."""
    try:
        with tarfile.open(fileobj=file, mode="r:*") as archive:
            _unpack_members(archive, folder, prefix)
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise BadArchive(f"is no tar archive that can be read: {error}") from error


def _unpack_members(archive: tarfile.TarFile, folder: int, prefix: tuple[str, ...]) -> None:
    total_bytes = 0
    for count, member in enumerate(archive, start=1):
        total_bytes += max(0, member.size)
        if count > MOST_MEMBERS:
            raise BadArchive(f"has more than {MOST_MEMBERS} members")
        if total_bytes > LARGEST_UNPACKED_BYTES:
            raise BadArchive(
                f"member {member.name!r}: all members up to it are larger than "
                f"{LARGEST_UNPACKED_BYTES >> 30} GiB"
            )
        try:
            _unpack(archive, member, folder, prefix)
        except Leaves as error:
            raise BadArchive(f"member {member.name!r}: {error}") from error
        except FileExistsError as error:
            raise BadArchive(f"member {member.name!r} is there already") from error
        except KeyError as error:
            raise BadArchive(
                f"member {member.name!r} links to {member.linkname!r}, which isn't in it"
            ) from error


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: int, prefix: tuple[str, ...]) -> None:
    if member.isdir() and posixpath.normpath(member.name) == ".":
        return
    parts = prefix + parts_of(member.name)
    if member.isdir():
        with parent_of(folder, (*parts, ""), make=True):
            return
    with parent_of(folder, parts, make=True) as parent:
        if member.issym():
            _check_target(member, len(parts) - len(prefix) - 1)
            os.symlink(member.linkname, parts[-1], dir_fd=parent)
        elif member.isreg() or member.islnk():
            source = archive.extractfile(member)
            if source is None:
                raise BadArchive(f"member {member.name!r} holds no file")
            mode = 0o755 if member.mode & _EXECUTABLE else 0o644
            target = os.open(
                parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=parent
            )
            with source, os.fdopen(target, "wb") as out:
                shutil.copyfileobj(source, out, _COPY_BYTES)
        else:
            raise BadArchive(
                f"member {member.name!r} is a device or a pipe; only files, folders and links may be in it"
            )


def _check_target(member: tarfile.TarInfo, depth: int) -> None:
    """A link may go up only from where it lies: after a name, which may be a link itself, '..' could
    lead anywhere."""
    target = member.linkname
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    if "\0" in target or target.startswith("/") or ups > depth or ".." in parts[ups:]:
        raise BadArchive(f"member {member.name!r} is a link to {target!r}, which leaves the folder")
