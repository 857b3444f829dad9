"""Tasks of a lane are handed over one after the other, whoever is slow."""

import asyncio

from rota.agent.performance import Turn


async def test_each_waits_for_the_one_before() -> None:
    first = Turn()
    second = Turn(first)
    third = Turn(second)
    order: list[str] = []

    async def take(turn: Turn, name: str) -> None:
        await turn.comes()
        order.append(name)
        turn.is_over.set()

    late = [asyncio.create_task(take(third, "third")), asyncio.create_task(take(second, "second"))]
    await asyncio.sleep(0)
    assert order == []
    await take(first, "first")
    await asyncio.gather(*late)
    assert order == ["first", "second", "third"]
