"""What agents and their server owe each other, all of it from one number: when an agent counts as lost.

    0 ───── heartbeats ─────┬────── silence ───────┬─── grace ───┬─ margin ─┐
    the agent sent a word   │                      │ its keeper  │          │ the server, which counts from
    that was acknowledged   │                      │ ends tasks  │ lease_ms │ when that word came in, tells
                                                                            lost_after_ms   that they are lost

Neither side looks at the other's clock. The agent counts from an earlier moment than the server does, so its
tasks have ended before the server starts them elsewhere; the margin is for clocks that run at other rates,
and for the moment that killing takes.
"""

from __future__ import annotations

from msgspec import Struct

_LONGEST_GRACE_MS = 10_000


class Terms(Struct, frozen=True):
    lost_after_ms: int = 60_000

    @property
    def heartbeat_ms(self) -> int:
        return self.lost_after_ms // 12

    @property
    def silent_after_ms(self) -> int:
        """Three heartbeats are missing: nothing new is sent there."""
        return self.lost_after_ms // 12 * 7 // 2

    @property
    def lease_ms(self) -> int:
        return self.lost_after_ms - self.lost_after_ms // 20

    @property
    def grace_ms(self) -> int:
        return min(_LONGEST_GRACE_MS, self.lost_after_ms // 3)
