"""Waiting for whichever comes first."""

from __future__ import annotations

import asyncio


async def any_of(*events: asyncio.Event) -> None:
    if any(event.is_set() for event in events):
        return
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
