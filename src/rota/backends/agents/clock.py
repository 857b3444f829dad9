"""How far an agent's clock is from the server's, by its heartbeats: to be shown, never to be trusted."""

from __future__ import annotations

from collections import deque

SHOWN_FROM_MS = 2_000
_SAMPLES = 8
_NOISE_MS = 20
"""Differences below this say more about the network than about clocks."""


class Clock:
    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=_SAMPLES)
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
        """The quickest of the latest words says it best."""
        self._samples.append((max(0, round_trip_ms), server_ms - agent_ms - max(0, round_trip_ms) // 2))
        round_trip_ms, ahead_ms = min(self._samples)
        if abs(ahead_ms) <= _NOISE_MS:
            ahead_ms = 0
        if ahead_ms == 0 or abs(ahead_ms - self._ahead_ms) > max(_NOISE_MS, round_trip_ms):
            self._ahead_ms = ahead_ms
