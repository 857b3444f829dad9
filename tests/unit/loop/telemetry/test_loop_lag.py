"""How long the event loop answers nobody is measured, and told if it is long."""

from __future__ import annotations

import asyncio
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from rota.loop.telemetry import loop_lag as module
from rota.loop.telemetry.loop_lag import EVERY_S, SilenceWatch, silence_watched
from rota.loop.telemetry.metrics import Metrics


def longest_s(metrics: Metrics) -> float:
    families = text_string_to_metric_families(metrics.exposition().decode())
    [family] = [one for one in families if one.name == "rota_loop_longest_silence_seconds"]
    return family.samples[0].value


def test_the_longest_since_the_last_scrape() -> None:
    now_s, metrics = 0.0, Metrics()
    watch = SilenceWatch(metrics, lambda: now_s)
    for silent_s in (0.0, 0.4, 0.1):
        now_s += EVERY_S + silent_s
        watch.beat()
    assert longest_s(metrics) == pytest.approx(0.4)
    assert longest_s(metrics) == 0
    now_s += EVERY_S + 0.2
    watch.beat()
    assert longest_s(metrics) == pytest.approx(0.2)


@pytest.mark.slow
def test_what_it_was_at_is_in_the_log() -> None:
    def stubborn() -> None:
        time.sleep(2.5 * module.TOLD_S)

    async def test() -> None:
        async with silence_watched(metrics):
            await asyncio.sleep(0.3)
            stubborn()
            await asyncio.sleep(0.3)

    metrics = Metrics()
    with capture_logs() as lines:
        asyncio.run(test())
    [line] = [one for one in lines if one["event"] == "loop.blocked"]
    assert line["seconds"] >= module.TOLD_S
    assert line["was_at"].startswith("stubborn (test_loop_lag.py:")
    assert longest_s(metrics) >= module.TOLD_S
