"""What is to be said to one controller on one connection: what happened first, then what tasks wrote.

Words about actions are few and short, and wait here for as long as it takes. Output waits where it comes
from: whoever brings some goes on when gRPC has taken it, which it does at the rate that the controller reads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from rota.backends.agents.arrivals import NobodyListens
from rota.wire import controllers_pb2 as wire


class Outbox:
    def __init__(self) -> None:
        self._words: deque[wire.SchedulerNews] = deque()
        self._bulk: deque[tuple[wire.SchedulerNews, asyncio.Future[None], Callable[[], None]]] = deque()
        self._wake = asyncio.Event()
        self.is_closed = False
        self.why_closed = ""
        """Empty: the controller left by itself."""

    def tell(self, news: wire.SchedulerNews) -> None:
        self._words.append(news)
        self._wake.set()

    async def pass_on(self, news: wire.SchedulerNews, on_its_way: Callable[[], None] = lambda: None) -> None:
        """Returns when it is sent; whatever is told after that comes after it. Raises NobodyListens.
        `on_its_way` is called when it begins to be sent: from then on it comes, even if whoever waits here is
        cancelled."""
        if self.is_closed:
            raise NobodyListens
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._bulk.append((news, taken, on_its_way))
        self._wake.set()
        await taken

    def close(self, why: str = "") -> None:
        if self.is_closed:
            return
        self.is_closed, self.why_closed = True, why
        for _, taken, _ in self._bulk:
            if not taken.done():
                taken.set_exception(NobodyListens())
        self._bulk.clear()
        self._wake.set()

    def _sent(self, taken: asyncio.Future[None]) -> None:
        if taken.done():
            return
        if self.is_closed:
            taken.set_exception(NobodyListens())
        else:
            taken.set_result(None)

    async def __aiter__(self) -> AsyncIterator[wire.SchedulerNews]:
        """Until it is closed. Asking for the next means that the one before was sent."""
        while not self.is_closed:
            if self._words:
                yield self._words.popleft()
            elif self._bulk:
                news, taken, on_its_way = self._bulk.popleft()
                if not taken.done():
                    on_its_way()
                    try:
                        yield news
                    finally:
                        self._sent(taken)
            else:
                self._wake.clear()
                await self._wake.wait()
