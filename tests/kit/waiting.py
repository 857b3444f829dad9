"""Waiting for what comes to pass, and failing where it doesn't."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 20.0


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


def wait_until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """`eventually`, where there is no event loop."""
    give_up_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up_s, "it never came to pass"
        time.sleep(0.005)
