"""Operators hear of agents, but not a million times of the same one."""

import asyncio

from rota.backends.agents.notices import Notice, Notices


def told(notices: Notices, count: int) -> list[Notice]:
    async def take() -> list[Notice]:
        found: list[Notice] = []
        async with asyncio.timeout(5):
            async for notice in notices:
                found.append(notice)
                if len(found) == count:
                    break
        return found

    return asyncio.run(take())


def test_each_is_told_once_a_minute_with_how_often() -> None:
    notices = Notices()
    for at_ms in range(0, 120_000, 1000):
        notices.refused("a", "no", at_ms)
    notices.refused("b", "no", 0)
    assert told(notices, 3) == [
        Notice("agent.Refused", "a", {"why": "no", "times": 1}),
        Notice("agent.Refused", "a", {"why": "no", "times": 60}),
        Notice("agent.Refused", "b", {"why": "no", "times": 1}),
    ]


def test_many_with_other_names_take_no_more_than_their_share() -> None:
    notices = Notices()
    for number in range(20_000):
        notices.refused(str(number), "no", 0)
    assert len(notices._refused) <= 10_000
    assert [notice.agent for notice in told(notices, 1000)] == [str(number) for number in range(1000)]
    assert notices._queue.empty()
