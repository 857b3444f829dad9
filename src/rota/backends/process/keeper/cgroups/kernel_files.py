"""Reads and writes the small files by which the kernel is told about cgroups."""

from __future__ import annotations

import os

_PIECE_BYTES = 1 << 16
_SHORT_BYTES = 1 << 10
"""The kernel gives less than that only at the end of a file."""


def read_file(path: str) -> str:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_all(file)
    finally:
        os.close(file)


def read_all(file: int) -> str:
    data = os.pread(file, _PIECE_BYTES, 0)
    if data and len(data) > _SHORT_BYTES:
        while piece := os.pread(file, _PIECE_BYTES, len(data)):
            data += piece
    return data.decode()


def write_file(path: str, value: str) -> None:
    """Never makes the file: where there is none, the kernel doesn't know the setting."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        write_to(file, path, value)
    finally:
        os.close(file)


def write_to(file: int, path: str, value: str) -> None:
    try:
        os.pwrite(file, value.encode(), 0)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
