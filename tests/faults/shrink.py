"""The least of a scenario that still breaks the same: work and faults are left out, many at once first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from tests.faults.cluster import Result
from tests.faults.seeds import run
from tests.faults.troubles import AnyScenario

T = TypeVar("T")

MOST_TRIES = 300


def shrunk(failed: Result, most_tries: int = MOST_TRIES) -> Result:
    """Of those that break the same invariant, the smallest that was found."""
    assert failed.violation is not None
    invariant = failed.violation.invariant
    best, tries = failed, 0

    def still_fails(smaller: AnyScenario) -> bool:
        nonlocal best, tries
        tries += 1
        result = run(smaller)
        if result.violation is None or result.violation.invariant != invariant:
            return False
        best = result
        return True

    def with_faults(faults: Sequence[Any]) -> bool:
        return still_fails(replace(best.scenario, faults=tuple(faults)))

    def with_work(work: Sequence[tuple[int, Any]]) -> bool:
        return still_fails(replace(best.scenario, work=tuple(work)))

    size = -1
    while size != (size := len(best.scenario.work) + len(best.scenario.faults)) and tries < most_tries:
        _leave_out(best.scenario.faults, with_faults)
        _leave_out(best.scenario.work, with_work)
    return best


def _leave_out(parts: Sequence[T], still_fails: Callable[[Sequence[T]], bool]) -> None:
    """Halves of it, then quarters, and so on to single ones."""
    chunk = max(1, len(parts) // 2)
    while True:
        at = 0
        while at < len(parts):
            rest = [*parts[:at], *parts[at + chunk :]]
            if still_fails(rest):
                parts = rest
            else:
                at += chunk
        if chunk == 1:
            return
        chunk //= 2
