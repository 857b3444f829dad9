"""What users write leaves room on the disk, and a task that is started again and again has one log."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rota.backends.backend import Stream
from rota.backends.process.keeper.streams.log_writer import LogWriter, Rotation
from rota.backends.process.segments import MOST_EARLIER, Origin
from rota.backends.process.space import ensure_room

pytestmark = pytest.mark.covers("trust-5")

KIB = 1024


class Disk:
    f_frsize = 4 * KIB

    def __init__(self, size_mib: int, free_mib: float) -> None:
        self.f_blocks = size_mib * 256
        self.f_bavail = int(free_mib * 256)


@pytest.mark.parametrize(
    ("size_mib", "free_mib", "has_room"),
    [
        (100_000, 513, True),
        (100_000, 511, False),
        (100, 5.5, True),  # A twentieth of a small disk is enough.
        (100, 4.5, False),
        (0, 0, True),  # Some file systems don't tell.
    ],
)
def test_a_reserve_of_the_disk_is_left_free(
    monkeypatch: pytest.MonkeyPatch, size_mib: int, free_mib: float, has_room: bool
) -> None:
    monkeypatch.setattr(os, "fstatvfs", lambda file: Disk(size_mib, free_mib))
    if has_room:
        ensure_room(0)
        return
    with pytest.raises(OSError, match="are reserved for Rota") as caught:
        ensure_room(0)
    assert caught.value.errno == errno.ENOSPC


def written(folder: Path, fence: int, size_bytes: int, rank: int = 0) -> None:
    writer = LogWriter(folder, Origin(rank, fence), Rotation(256 * KIB, 4))
    for _ in range(0, size_bytes, KIB):
        writer.write(Stream.OUT, bytes(KIB))
    writer.close()


def kept(folder: Path, rank: int = 0) -> dict[int, int]:
    """Bytes by fence."""
    found: dict[int, int] = {}
    for path in folder.glob(f"{rank}-*"):
        fence = int(path.name.split("-")[1])
        found[fence] = found.get(fence, 0) + path.stat().st_size
    return found


def test_starts_of_a_task_share_what_one_may_keep(tmp_path: Path) -> None:
    written(tmp_path, 1, 1024 * KIB, rank=1)
    for fence in range(1, 17):
        written(tmp_path, fence, 900 * KIB)
    sizes = kept(tmp_path)
    assert max(sizes) == 16
    assert sizes[16] > 900 * KIB, "of the latest start all that may be"
    assert 1500 * KIB < sum(sizes.values()) < 2.3 * 1024 * KIB
    assert kept(tmp_path, rank=1)[1] > 700 * KIB, "another task's"


def test_many_small_starts_leave_few_files(tmp_path: Path) -> None:
    for fence in range(1, 101):
        written(tmp_path, fence, KIB)
    assert set(kept(tmp_path)) == set(range(100 - MOST_EARLIER, 101))
