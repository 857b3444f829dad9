"""When to look at the nodes: soon after something about them has changed, and now and then in any case."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

EVERY_S = 5.0
SETTLE_S = 0.05
REST = 20.0
"""A look is followed by a rest as long as itself, times this: of many nodes something changes all the time,
and each look leads to a cycle."""
LONGEST_REST_S = EVERY_S
"""A single slow look, because a backend didn't answer, says nothing about the next."""


async def look_at_changes(changed: asyncio.Event, look: Callable[[], Awaitable[None]]) -> None:
    """Until it is cancelled, or `look` fails."""
    clock = asyncio.get_running_loop().time
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(EVERY_S):
                await changed.wait()
            # Changes seldom come alone.
            await asyncio.sleep(SETTLE_S)
        changed.clear()
        began_s = clock()
        await look()
        await asyncio.sleep(min(LONGEST_REST_S, REST * (clock() - began_s)))
