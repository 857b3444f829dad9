"""Output of tasks that say how far they are, and what it must be."""

from __future__ import annotations

from pathlib import Path


def until(told: Path) -> str:
    return f"i=0; while [ ! -e {told} ]; do echo line $i; i=$((i+1)); sleep 0.02; done; echo last $i; exit 4"


def assert_whole(output: str) -> None:
    *lines, last = output.splitlines()
    assert lines == [f"line {number}" for number in range(len(lines))]
    assert last == f"last {len(lines)}"
