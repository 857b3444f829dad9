"""The content of a file or of standard input, never more of it than allowed."""

import os
import stat
import sys

from rota.intake.errors import InputError, Position

STANDARD_INPUT = "-"
MAX_BYTES = 64 * 2**20
MAX_DEPTH = 100
"""Of lists and mappings within each other."""


def read_text(path: str, max_bytes: int) -> str:
    return decode(read_bytes(path, max_bytes), display_name(path))


def read_bytes(path: str, max_bytes: int) -> bytes:
    return _read_standard_input(max_bytes) if path == STANDARD_INPUT else _read_file(path, max_bytes)


def display_name(path: str) -> str:
    return "<stdin>" if path == STANDARD_INPUT else path


def decode(raw: bytes, file: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # `error.object` lacks the byte order mark that `error.start` doesn't count.
        before = error.object[: error.start]
        position = Position(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        byte = error.object[error.start]
        raise InputError(
            file, f"byte 0x{byte:02x} is not UTF-8 text", "save the file as UTF-8", position=position
        ) from None


def _read_file(path: str, max_bytes: int) -> bytes:
    try:
        status = os.stat(path)
        _refuse_unless_regular(path, status.st_mode)
        _refuse_if_over(status.st_size, max_bytes, path)
        with open(path, "rb") as stream:
            raw = stream.read(max_bytes + 1)
    except FileNotFoundError:
        raise InputError(path, "there is no such file", "check the path") from None
    except PermissionError:
        raise InputError(path, "may not be read", "ask its owner for permission") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(path, "is not a file name", "check the path") from None
    # A growing file, or one of /proc that states no size.
    _refuse_if_over(len(raw), max_bytes, path)
    return raw


def _read_standard_input(max_bytes: int) -> bytes:
    file = display_name(STANDARD_INPUT)
    try:
        raw = sys.stdin.buffer.read(max_bytes + 1)
    except OSError as error:
        raise InputError(file, f"cannot be read: {error.strerror}") from None
    if len(raw) > max_bytes:
        raise InputError(
            file,
            f"more than the limit of {max_bytes:,} bytes",
            "raise the limit (--max-file-size), or give less",
        )
    return raw


def _refuse_unless_regular(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise InputError(path, "is a directory", "name a file in it")
    if not stat.S_ISREG(mode):
        raise InputError(
            path, "is not a regular file", 'to read from a pipe, give "-" and pipe into standard input'
        )


def _refuse_if_over(size_bytes: int, max_bytes: int, path: str) -> None:
    if size_bytes > max_bytes:
        raise InputError(
            path,
            f"has {size_bytes:,} bytes, the limit is {max_bytes:,}",
            "raise the limit (--max-file-size), or give less",
        )
