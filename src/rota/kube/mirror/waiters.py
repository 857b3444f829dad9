"""Waiting until something is so of what changes all the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Waiters:
    """Whoever is told of changes calls `look`; those who wait are asked once for all that came together."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._look: asyncio.Handle | None = None

    async def until(self, is_so: Callable[[], bool]) -> None:
        if is_so():
            return
        waiter = (is_so, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        try:
            await waiter[1]
        finally:
            self._waiting.remove(waiter)

    def look(self) -> None:
        if self._waiting and self._look is None:
            self._look = asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        self._look = None
        for is_so, future in self._waiting:
            if not future.done() and is_so():
                future.set_result(None)
