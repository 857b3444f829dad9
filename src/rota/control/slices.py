"""Long work in slices: in between, everybody else is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

R = TypeVar("R")

SLICE = 500
"""Jobs that are looked at in one go."""

Sliced: TypeAlias = Generator[Callable[[], object] | None, Any, R]
"""What a command may answer whose work is long: it goes on from one `yield` to the next, with a pause between
them. What it yields is called in a thread, and sent back. Nothing else is tried meanwhile."""


async def in_slices(work: Sliced[R]) -> R:
    sent: object = None
    while True:
        try:
            asked = work.send(sent)
        except StopIteration as done:
            result: R = done.value
            return result
        if asked is None:
            await asyncio.sleep(0)
        sent = None if asked is None else await asyncio.to_thread(asked)
