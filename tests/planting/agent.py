"""Bugs of `rota agent`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.agent.attendance import Attendance
from rota.agent.crew import Crew
from rota.agent.performance import Performance
from rota.clock import since_boot_ms
from rota.wire import agents_pb2 as wire

_WORK_S = 2.0
"""As much as hashing a large input takes."""


@contextmanager
def heartbeats_wait_for_the_work_of_tasks() -> Iterator[None]:
    """The loop makes them, which also does what takes a while."""
    heartbeat, hand_over = Attendance._heartbeat, Performance._hand_over

    def from_the_loop(self: Attendance, number: int, round_trip_ms: int) -> wire.AgentNews:
        assert isinstance(self._listener, Crew)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._listener._loop).result()
        return heartbeat(self, number, round_trip_ms)

    async def busily(self: Performance, *given: Any) -> None:
        time.sleep(_WORK_S)
        await hand_over(self, *given)

    with (
        patch.object(Attendance, "_heartbeat", from_the_loop),
        patch.object(Performance, "_hand_over", busily),
    ):
        yield


@contextmanager
def leases_are_renewed_by_beats_without_answers() -> Iterator[None]:
    heartbeat = Attendance._heartbeat

    def hopeful(self: Attendance, number: int, round_trip_ms: int) -> wire.AgentNews:
        self._lease.renew(since_boot_ms(), self._lease_ms, self._grace_ms)
        return heartbeat(self, number, round_trip_ms)

    with patch.object(Attendance, "_heartbeat", hopeful):
        yield
