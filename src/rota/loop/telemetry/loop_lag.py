"""How long the event loop is blocked: agents' leases, users and signals wait for it.

A repeated timer notes how late it fires. A thread watches: when the loop has been silent for a second, it
notes what the loop is executing, so that the log names the cause.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from types import FrameType

import structlog

from rota.loop.telemetry.metrics import Metrics

EVERY_S = 0.1
TOLD_S = 1.0
"""A longer silence is logged."""
_FRAMES = 6

log = structlog.get_logger()


@asynccontextmanager
async def silence_watched(metrics: Metrics) -> AsyncIterator[None]:
    task = asyncio.create_task(SilenceWatch(metrics).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class SilenceWatch:
    """Of the loop that it is run in."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = monotonic) -> None:
        self._metrics = metrics
        self._clock = clock
        self._beat_s = clock()
        self._seen = ""
        """What the loop was at when it had been silent for too long."""
        self._over = threading.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        self._beat_s = self._clock()
        onlooker = threading.Thread(
            target=self._look_on, args=(threading.get_ident(),), name="rota-silence", daemon=True
        )
        onlooker.start()
        try:
            while True:
                await asyncio.sleep(EVERY_S)
                self.beat()
        finally:
            self._over.set()

    def beat(self) -> None:
        """The loop runs again: notes how long it was blocked, beyond the planned pause."""
        now_s = self._clock()
        silent_s = max(0.0, now_s - self._beat_s - EVERY_S)
        self._beat_s, seen, self._seen = now_s, self._seen, ""
        self._metrics.observe_silence(silent_s)
        if silent_s >= TOLD_S:
            log.warning("loop.blocked", seconds=round(silent_s, 3), was_at=seen or "unknown")

    def _look_on(self, loop_thread: int) -> None:
        while not self._over.wait(TOLD_S / 2):
            if not self._seen and self._clock() - self._beat_s >= TOLD_S:
                frame = sys._current_frames().get(loop_thread)
                self._seen = "" if frame is None else _words(frame)


def _words(frame: FrameType) -> str:
    """The innermost calls, the last one first: no values, which may be secrets."""
    summary = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=_FRAMES, lookup_lines=False)
    return " < ".join(f"{one.name} ({one.filename.rpartition('/')[2]}:{one.lineno})" for one in summary)
