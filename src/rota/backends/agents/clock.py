"""How far an agent's clock is from the server's, by its heartbeats: to be shown, never to be trusted."""

from __future__ import annotations

from collections import deque

SHOWN_FROM_MS = 2_000
_SAMPLES = 8
_NOISE_MS = 20
"""Differences below this say more about the network than about clocks."""


class Clock:
    def __init__(self) -> None:
        self._differences_ms: deque[int] = deque(maxlen=_SAMPLES)
        self._round_trips_ms: deque[int] = deque(maxlen=_SAMPLES)
        self._ahead_ms = 0

    @property
    def server_ahead_ms(self) -> int:
        """What is to be added to the agent's times."""
        return self._ahead_ms

    @property
    def message(self) -> str:
        if abs(self._ahead_ms) < SHOWN_FROM_MS:
            return ""
        side = "behind" if self._ahead_ms > 0 else "ahead of"
        return f"its clock is {abs(self._ahead_ms) / 1000:.1f} s {side} the server's"

    def heard(self, agent_ms: int, server_ms: int, round_trip_ms: int) -> None:
        """`round_trip_ms` is of an earlier word: this one may have been on its way for any time. The quickest
        of the latest words differ least, and as long as the way explains the rest, clocks are the same."""
        self._differences_ms.append(server_ms - agent_ms)
        self._round_trips_ms.append(max(0, round_trip_ms))
        quickest_ms = min(self._round_trips_ms)
        ahead_ms = min(self._differences_ms) - quickest_ms // 2
        if abs(ahead_ms) <= max(_NOISE_MS, quickest_ms // 2):
            ahead_ms = 0
        if ahead_ms == 0 or abs(ahead_ms - self._ahead_ms) > max(_NOISE_MS, quickest_ms):
            self._ahead_ms = ahead_ms
