"""The same for the client whose answers are awaited: it speaks HTTP by another library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from random import Random

from rota.sdk.async_client import AsyncClient
from rota.sdk.errors import RotaError
from rota.sdk.patience import Retries
from tests.hostile.answers import Liar, an_answer
from tests.hostile.odd import Odd

_AT_ONCE = Retries(attempts=1)
_MANY = 50
Ask = Callable[[AsyncClient, Odd], Awaitable[object]]


async def _some(items: AsyncIterator[object]) -> None:
    left = _MANY
    async for _ in items:
        left -= 1
        if not left:
            return


_ASKED: dict[str, Ask] = {
    "me": lambda client, odd: client.me(),
    "job": lambda client, odd: client.job(odd.text() or "1"),
    "jobs": lambda client, odd: _some(client.jobs()),
    "submit": lambda client, odd: client.submit({"command": ["true"]}),
    "logs": lambda client, odd: _some(client.logs("1")),
    "followed logs": lambda client, odd: _some(client.logs("1", follow=True)),
    "events": lambda client, odd: _some(client.events()),
    "followed events": lambda client, odd: _some(client.events(follow=True)),
    "output": lambda client, odd: client.output("1", odd.text() or "x"),
    "wait": lambda client, odd: client.wait("1", timeout_s=5),
}


def ask_awaited(liar: Liar, random: Random) -> str:
    """What was asked for."""
    odd = Odd(random)
    liar.answer = an_answer(odd)
    name = random.choice(list(_ASKED))

    async def asking() -> None:
        async with AsyncClient(
            liar.url, "rota_" + "a" * 43, retries=_AT_ONCE, stream_retries=_AT_ONCE
        ) as client:
            with suppress(RotaError):
                await _ASKED[name](client, odd)

    asyncio.run(asking())
    return name
