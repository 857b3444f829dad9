"""What is on its way to a controller counts, whatever becomes of who brought it."""

from __future__ import annotations

import asyncio

from rota.scheduler.outbox import Outbox
from rota.wire import controllers_pb2 as wire


def test_who_is_cancelled_while_it_is_sent_has_sent_it() -> None:
    async def check() -> None:
        outbox, counted = Outbox(), list[int]()
        bringing = asyncio.create_task(outbox.pass_on(wire.SchedulerNews(), lambda: counted.append(1)))
        await asyncio.sleep(0)
        news = aiter(outbox)
        await anext(news)
        bringing.cancel()
        await asyncio.gather(bringing, return_exceptions=True)
        assert counted == [1]

    asyncio.run(check())


def test_who_is_cancelled_before_has_not() -> None:
    async def check() -> None:
        outbox, counted = Outbox(), list[int]()
        bringing = asyncio.create_task(outbox.pass_on(wire.SchedulerNews(), lambda: counted.append(1)))
        await asyncio.sleep(0)
        bringing.cancel()
        await asyncio.gather(bringing, return_exceptions=True)
        outbox.tell(wire.SchedulerNews(welcome=wire.Welcome(version="1")))
        assert (await anext(aiter(outbox))).welcome.version == "1"
        assert counted == []

    asyncio.run(check())
