"""Whether the scheduler is alive and ready, and its figures, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from rota.loop.telemetry.metrics import CONTENT_TYPE


@asynccontextmanager
async def probes(
    host: str, port: int, is_ready: Callable[[], bool], figures: Callable[[], Callable[[], bytes]]
) -> AsyncIterator[int]:
    """Answers /healthz, /readyz and /metrics; yields the port, which is any that is free for 0.

    `figures` answers what makes a text of them: of thousands of nodes that takes a while, and is done in a
    thread.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def readyz(_: web.Request) -> web.Response:
        if is_ready():
            return web.Response(text="ok")
        return web.Response(status=503, text="the cluster isn't known yet")

    async def exposition(_: web.Request) -> web.Response:
        text = await asyncio.to_thread(figures())
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})

    app = web.Application()
    app.add_routes(
        [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", exposition)]
    )
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
