"""Bugs of `rota agent`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.agent.attendance import _InLoop
from rota.agent.performance import Performance
from rota.agent.presence import Presence
from rota.clock import since_boot_ms
from rota.wire import agents_pb2 as wire

_WORK_S = 2.0
"""As much as hashing a large input takes."""


@contextmanager
def heartbeats_wait_for_the_work_of_tasks() -> Iterator[None]:
    """The loop makes them, which also does what takes a while."""
    heartbeat, hand_over = Presence.heartbeat_if_due, Performance._hand_over

    def from_the_loop(self: Presence) -> wire.AgentNews | None:
        assert isinstance(self._listener, _InLoop)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._listener._loop).result()
        return heartbeat(self)

    async def busily(self: Performance, *given: Any) -> None:
        time.sleep(_WORK_S)
        await hand_over(self, *given)

    with (
        patch.object(Presence, "heartbeat_if_due", from_the_loop),
        patch.object(Performance, "_hand_over", busily),
    ):
        yield


@contextmanager
def leases_are_renewed_by_beats_without_answers() -> Iterator[None]:
    heartbeat = Presence.heartbeat_if_due

    def hopeful(self: Presence) -> wire.AgentNews | None:
        said = heartbeat(self)
        if said is not None:
            self._agent.lease.renew(since_boot_ms(), self._terms.lease_ms, self._terms.grace_ms)
        return said

    with patch.object(Presence, "heartbeat_if_due", hopeful):
        yield
