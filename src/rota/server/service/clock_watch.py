"""Watches the clock of this machine. A jump is logged and counted, and never followed at once."""

from __future__ import annotations

import asyncio

import structlog

from rota.clock import BELIEVED_AFTER_MS, SMALL_MS, SYSTEM
from rota.loop.telemetry.metrics import Metrics

log = structlog.get_logger()

_LOOK_EACH_S = 1.0


async def watch_clock(metrics: Metrics) -> None:
    """Until it is cancelled."""
    metrics.before_scrape(lambda: metrics.set_clock_off(SYSTEM.off_ms() / 1000))
    was_off = False
    while True:
        off_ms = SYSTEM.off_ms()
        is_off = abs(off_ms) > SMALL_MS
        if is_off and not was_off:
            metrics.count_clock_jump()
            log.warning(
                "clock.jumped",
                by_s=off_ms / 1000,
                believed_after_s=BELIEVED_AFTER_MS / 1000,
            )
        elif was_off and not is_off:
            log.info("clock.steady")
        was_off = is_off
        await asyncio.sleep(_LOOK_EACH_S)
