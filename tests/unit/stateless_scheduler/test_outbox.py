"""What is said to a controller: what happened goes first, and output waits until it is taken."""

from __future__ import annotations

import asyncio

import pytest

from rota.backends.agents.arrivals import NobodyListens
from rota.stateless_scheduler.outbox import Outbox
from rota.wire import controllers_pb2 as wire


def word(text: str) -> wire.SchedulerNews:
    return wire.SchedulerNews(waiting=wire.Waiting(reason=text))


def bulk(data: bytes) -> wire.SchedulerNews:
    return wire.SchedulerNews(file=wire.OutputFile(data=data))


@pytest.mark.covers("agent-3")
async def test_words_go_before_output_and_output_waits_to_be_taken() -> None:
    outbox = Outbox()
    passing = asyncio.create_task(outbox.pass_on(bulk(b"1")))
    await asyncio.sleep(0)
    outbox.tell(word("a"))
    said = aiter(outbox)
    assert (await anext(said)).waiting.reason == "a"
    assert (await anext(said)).file.data == b"1"
    await asyncio.sleep(0)
    assert not passing.done(), "nobody knows yet that it was sent"
    outbox.tell(word("b"))
    assert (await anext(said)).waiting.reason == "b"
    await passing


async def test_who_waits_learns_that_nobody_listens() -> None:
    outbox = Outbox()
    passing = asyncio.create_task(outbox.pass_on(bulk(b"1")))
    await asyncio.sleep(0)
    outbox.close("enough")
    outbox.close("again")
    with pytest.raises(NobodyListens):
        await passing
    with pytest.raises(NobodyListens):
        await outbox.pass_on(bulk(b"2"))
    assert [news async for news in outbox] == []
    assert outbox.why_closed == "enough"


async def test_who_is_cancelled_while_it_is_sent_has_sent_it() -> None:
    outbox, counted = Outbox(), list[int]()
    bringing = asyncio.create_task(outbox.pass_on(wire.SchedulerNews(), lambda: counted.append(1)))
    await asyncio.sleep(0)
    news = aiter(outbox)
    await anext(news)
    bringing.cancel()
    await asyncio.gather(bringing, return_exceptions=True)
    assert counted == [1]


async def test_who_is_cancelled_before_has_not() -> None:
    outbox, counted = Outbox(), list[int]()
    bringing = asyncio.create_task(outbox.pass_on(wire.SchedulerNews(), lambda: counted.append(1)))
    await asyncio.sleep(0)
    bringing.cancel()
    await asyncio.gather(bringing, return_exceptions=True)
    outbox.tell(wire.SchedulerNews(welcome=wire.Welcome(version="1")))
    assert (await anext(aiter(outbox))).welcome.version == "1"
    assert counted == []
