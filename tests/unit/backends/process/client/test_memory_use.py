"""What is in use of a machine's memory, and whose it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rota.backends.process.client.memory_use import (
    PAGE_BYTES,
    MemoryUse,
    in_steps,
    memory_use,
    taken_by_others,
    tree_bytes,
)

pytestmark = pytest.mark.covers("agent-2")

GIB = 1 << 30
MEMINFO = """MemTotal:       67108864 kB
MemFree:         1000000 kB
MemAvailable:   16777216 kB
"""


def a_process(proc: Path, pid: int, parent: int, pages: int, name: str = "sh") -> None:
    (proc / str(pid)).mkdir(parents=True)
    fields = ["S", str(parent), *["0"] * 19, str(pages), *["0"] * 20]
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


def test_what_is_in_use_is_what_is_not_available(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    assert memory_use(tmp_path, None) == MemoryUse(48 * GIB)


def test_tasks_are_all_processes_below_the_keeper(tmp_path: Path) -> None:
    a_process(tmp_path, 1, 0, 1000)
    a_process(tmp_path, 10, 1, 500, "keeper")
    a_process(tmp_path, 11, 10, 30, "a (strange) name")
    a_process(tmp_path, 12, 11, 7)
    a_process(tmp_path, 13, 1, 9999)
    (tmp_path / "14").mkdir()
    assert tree_bytes(tmp_path, 10) == 37 * PAGE_BYTES


def test_of_real_processes() -> None:
    script = "x = bytearray(64 << 20); print('there', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert tree_bytes(Path("/proc"), os.getpid()) >= 64 << 20
        assert memory_use(Path("/proc"), os.getpid()).used_bytes >= 64 << 20
        child.communicate(b"\n")


@pytest.mark.parametrize(
    ("current", "inactive"),
    [("memory.current", "inactive_file"), ("memory.usage_in_bytes", "total_inactive_file")],
)
def test_in_a_control_group_its_own_use_counts_without_cached_files(
    tmp_path: Path, current: str, inactive: str
) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    group = tmp_path / "group"
    group.mkdir()
    (group / current).write_text(f"{3 * GIB}\n")
    (group / "memory.stat").write_text(f"anon 5\n{inactive} {GIB}\n")
    assert memory_use(tmp_path, None, group).used_bytes == 2 * GIB


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (MemoryUse(4 * GIB), 0),  # The system itself uses some.
        (MemoryUse(50 * GIB, 46 * GIB), 0),  # Tasks have what they use.
        (MemoryUse(50 * GIB, 20 * GIB), 30),
        (MemoryUse(58 * GIB), 64),  # Less than the margin is left: that is full.
    ],
)
def test_others_count_beyond_the_margin(use: MemoryUse, expected: int) -> None:
    assert taken_by_others(use, 64 * GIB, 64 * GIB) == expected * GIB


def test_the_margin_is_a_setting() -> None:
    use = MemoryUse(30 * GIB)
    assert taken_by_others(use, 64 * GIB, 64 * GIB, margin=32 * GIB) == 0
    assert taken_by_others(use, 64 * GIB, 64 * GIB, margin=1 * GIB) == 30 * GIB
    assert taken_by_others(MemoryUse(64 * GIB), 64 * GIB, 64 * GIB, margin=64 * GIB) == 0, "it is off"


def test_what_isnt_for_tasks_anyway_is_for_others() -> None:
    assert taken_by_others(MemoryUse(40 * GIB), 64 * GIB, 16 * GIB) == 0
    assert taken_by_others(MemoryUse(54 * GIB), 64 * GIB, 16 * GIB) == 6 * GIB


def test_small_changes_are_none() -> None:
    assert in_steps(0, 64 * GIB) == 0
    assert in_steps(1, 64 * GIB) == in_steps(GIB, 64 * GIB) == GIB
