"""What operators should know of agents: told to whoever listens, but no more than they can read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from msgspec import Struct

_WAITING = 1_000
_AGAIN_AFTER_MS = 60_000
_REMEMBERED = 10_000


class Notice(Struct, frozen=True):
    kind: str
    """`agent.Joined`, `agent.Left`, `agent.Lost` or `agent.Refused`."""
    agent: str
    """Its name, or where it called from if it gave none."""
    data: dict[str, object]


class Notices:
    def __init__(self) -> None:
        self._queue: asyncio.Queue[Notice] = asyncio.Queue(_WAITING)
        self._refused: dict[str, tuple[int, int]] = {}
        """When somebody was last told of, and how often they were refused since."""

    async def __aiter__(self) -> AsyncIterator[Notice]:
        while True:
            yield await self._queue.get()

    def tell(self, kind: str, agent: str, **data: object) -> None:
        # Should nobody listen, the first are the ones that matter.
        if not self._queue.full():
            self._queue.put_nowait(Notice(kind, agent, data))

    def refused(self, agent: str, why: str, now_ms: int) -> None:
        """One who is refused again and again is told of once a minute."""
        told_ms, unsaid = self._refused.pop(agent, (None, 0))
        if told_ms is not None and now_ms - told_ms < _AGAIN_AFTER_MS:
            self._refused[agent] = told_ms, unsaid + 1
            return
        self._refused[agent] = now_ms, 0
        if len(self._refused) > _REMEMBERED:
            del self._refused[next(iter(self._refused))]
        self.tell("agent.Refused", agent, why=why, times=1 + unsaid)
