"""Over a network that loses, doubles, delays and reorders, a connection hands on all of it once and in order;
and both ends learn when there is none any more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.faults.network import Conditions
from tests.faults.sockets import CONNECTS_WITHIN_S, SILENT_AFTER_S, Socket
from tests.faults.talk import Two

BAD = Conditions(drops=0.3, duplicates=0.4, delays=0.4)


class End:
    """What it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.lost = asyncio.Event()
        self.socket: Socket | None = None

    def takes(self, socket: Socket) -> None:
        self.socket = socket
        socket.on_body = self.heard.append
        socket.on_lost = self.lost.set


def connect(two: Two) -> tuple[End, End]:
    here, there = End(), End()
    two.there.listen("port", two.context(two.there), there.takes)
    here.takes(two.here.dial("there", "port", two.context(two.here)))
    return here, there


@pytest.mark.parametrize("seed", range(10))
def test_everything_arrives_once_and_in_order(seed: int) -> None:
    two = Two(seed, BAD)

    async def test() -> None:
        here, there = connect(two)
        assert here.socket is not None
        for number in range(100):
            here.socket.put(number)
            if there.socket is not None:
                there.socket.put(-number)
            await asyncio.sleep(0.01)
        two.network.conditions = Conditions()
        await asyncio.sleep(1)
        here.socket.close()
        await there.lost.wait()
        assert there.heard == list(range(100))
        assert here.heard == sorted(here.heard, reverse=True)
        assert len(here.heard) > 10

    two.run(test)


def test_where_everything_is_dropped_nobody_is_reached() -> None:
    two = Two(1, Conditions(drops=1.0))

    async def test() -> None:
        here, there = connect(two)
        await here.lost.wait()
        assert CONNECTS_WITHIN_S <= two.loop.time() < CONNECTS_WITHIN_S + 1
        assert there.socket is None

    two.run(test)


def test_nobody_listens() -> None:
    two = Two(1)

    async def test() -> None:
        here = End()
        here.takes(two.here.dial("there", "another", two.context(two.here)))
        await here.lost.wait()
        assert two.loop.time() < 0.1

    two.run(test)


def test_a_process_that_is_killed_is_missed_at_once() -> None:
    two = Two(1)

    async def test() -> None:
        here, _ = connect(two)
        await asyncio.sleep(0.1)
        two.kill(two.there)
        await here.lost.wait()
        assert two.loop.time() < 0.2

    two.run(test)


def test_a_host_without_power_is_missed_after_a_while_or_when_it_is_back() -> None:
    two = Two(1)

    async def test() -> None:
        here, _ = connect(two)
        await asyncio.sleep(0.1)
        two.there.lose_power()
        two.network.cut_off.add("there")
        await here.lost.wait()
        assert two.loop.time() >= SILENT_AFTER_S
        again, _ = connect(two)
        two.network.cut_off.clear()
        await asyncio.sleep(0.5)
        two.there.lose_power()
        assert again.socket is not None
        again.socket.put("anybody there?")
        before_s = two.loop.time()
        await again.lost.wait()
        assert two.loop.time() - before_s < 0.1, "it says that it knows of no such connection"

    two.run(test)


def test_both_ends_learn_that_somebody_reset_what_goes_through_them() -> None:
    two = Two(1)

    async def test() -> None:
        here, there = connect(two)
        await asyncio.sleep(0.1)
        two.here.break_all()
        await here.lost.wait()
        await there.lost.wait()

    two.run(test)
