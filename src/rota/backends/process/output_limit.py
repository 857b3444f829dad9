"""How much of a task's output is kept, where the limits of the policy say so.

The task goes on, and its pipes are read as before: what it writes beyond that is dropped, and its log says so
once.
"""

from __future__ import annotations

import re

from rota.model.quantities import format_bytes


def kept_of(data: bytes, written_bytes: int, most_bytes: int) -> bytes:
    """What is to be written of what came next: all of it, or what still fits and the notice, or nothing. The
    notice is beyond the limit: whoever has written more has written it."""
    left_bytes = most_bytes - written_bytes
    if len(data) <= left_bytes:
        return data
    if left_bytes < 0:
        return b""
    kept = data[:left_bytes]
    begins_line = kept.endswith(b"\n") or not (kept or written_bytes)
    return kept + (b"" if begins_line else b"\n") + notice(most_bytes)


def is_used_up(written_bytes: int, most_bytes: int) -> bool:
    """Nothing of what comes will be written."""
    return written_bytes > most_bytes


def notice(most_bytes: int) -> bytes:
    return b"rota: output limit of %s reached; the rest was dropped\n" % _size_text(most_bytes).encode()


def _size_text(size_bytes: int) -> str:
    """As in 10 MiB."""
    number, unit = re.fullmatch(r"([0-9.]+)(.*)", format_bytes(size_bytes), re.ASCII).groups()  # type: ignore[union-attr]
    return f"{number} {unit}B"
