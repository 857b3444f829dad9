"""How much work a call is, in steps of the interpreter: the same on every machine and at any load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def operations(action: Callable[[], object]) -> int:
    """Steps of Python code that the call takes. What NumPy does inside counts as one."""
    count = 0

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
        elif event == "call":
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


MOST_GROWTH = 2.7
"""Twice the input may add so many times the work that the doubling before it did: 2 is linear, 2.4 is n log n
at these sizes, 4 is quadratic."""


def growth(action_of: Callable[[int], Callable[[], object]], first: int = 16) -> float:
    """By which factor the added work grows from doubling to doubling; what doesn't depend on the size of the
    input has no part in it. `action_of` prepares the call for an input of that size."""
    small, middle, large = (operations(action_of(first * times)) for times in (1, 2, 4))
    return (large - middle) / max(1, middle - small)
