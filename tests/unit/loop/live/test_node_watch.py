"""How often nodes are looked at."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from rota.loop.live.node_watch import EVERY_S, LONGEST_REST_S, REST, SETTLE_S, look_at_changes

pytestmark = pytest.mark.virtual_time


class Looks:
    """At each the nodes change again."""

    def __init__(self, take_s: float, *, change: bool = True) -> None:
        self.at_s: list[float] = []
        self._take_s = take_s
        self._changes = change
        self._changed = asyncio.Event()

    async def for_s(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await look_at_changes(self._changed, self._look)

    async def _look(self) -> None:
        self.at_s.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self._take_s)
        if self._changes:
            self._changed.set()

    def gaps_s(self) -> list[float]:
        """Those after the first, which nothing had come before."""
        return [round(after - before, 6) for before, after in zip(self.at_s[1:], self.at_s[2:], strict=False)]


async def test_now_and_then_if_nothing_changes() -> None:
    looks = Looks(0.0, change=False)
    await looks.for_s(60)
    assert set(looks.gaps_s()) == {EVERY_S}


async def test_with_rests_as_long_as_many_looks_if_something_always_changes() -> None:
    looks = Looks(0.01)
    await looks.for_s(60)
    assert set(looks.gaps_s()) == {round(SETTLE_S + 0.01 + REST * 0.01, 6)}


async def test_one_that_took_long_doesnt_keep_the_next_away() -> None:
    looks = Looks(30.0)
    await looks.for_s(300)
    assert set(looks.gaps_s()) == {round(SETTLE_S + 30 + LONGEST_REST_S, 6)}
