"""Over a network that loses, doubles, delays and reorders, a stream hands on everything once and in order."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from rota.faults.event_loop import VirtualLoop
from rota.faults.network import Conditions, Network, Stream


def exchange(conditions: Conditions, seed: int) -> tuple[list[int], list[int]]:
    """What arrives of a hundred numbers, and which are known to have."""
    loop = VirtualLoop(Random(seed), lambda: 0.0)
    network = Network(loop, Random(seed))
    network.conditions = conditions
    arrived: list[int] = []
    confirmed: list[int] = []
    ends: dict[str, Stream[int]] = {}

    def send_to(end: str) -> Any:
        return lambda message: network.send("a", lambda one: ends[end].arrived(one), message)

    ends["here"] = Stream(loop, 1, send_to("there"), lambda _: None, confirmed.append)
    ends["there"] = Stream(loop, 1, send_to("here"), arrived.append)

    async def talk() -> None:
        for number in range(100):
            ends["here"].put(number)
            await asyncio.sleep(0.01)
        await asyncio.sleep(60)

    loop.run_until_complete(talk())
    for end in ends.values():
        end.close()
    loop.lay_to_rest()
    return arrived, confirmed


@pytest.mark.parametrize("seed", range(5))
def test_everything_arrives_once_and_in_order(seed: int) -> None:
    arrived, confirmed = exchange(Conditions(drops=0.4, duplicates=0.4, delays=0.4), seed)
    assert arrived == list(range(100))
    assert sorted(confirmed) == list(range(100))


def test_nothing_arrives_where_everything_is_dropped() -> None:
    assert exchange(Conditions(drops=1.0), 1) == ([], [])
