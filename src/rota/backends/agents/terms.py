"""What agents and their server owe each other, all of it from one number: by when work of an agent that is
gone runs elsewhere.

    0 ── heartbeats ──┬── silence ──┬── grace ──┬─ margin ─┬─ decide and start ─┐
    the agent sent a  │             │ its keeper│          │ the server, which  │ they run
    word that was     │             │ ends tasks│          │ counts from when   │ elsewhere
    acknowledged                          lease_ms         │ that word came in, │
                                                           │ gives them up      │
                                                           given_up_after_ms    lost_after_ms

Neither side looks at the other's clock. The agent counts from an earlier moment than the server does, so its
tasks have ended before the server gives them up; the margin is for clocks that run at other rates, and for
the moment that killing takes. Whoever looks for silence does so in steps, and what is given up has yet to be
placed and started: that is what the last part is for.
"""

from __future__ import annotations

from msgspec import Struct

_LONGEST_GRACE_MS = 10_000
_SHORTEST_STEP_MS = 50


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
        return self.lost_after_ms - self.lost_after_ms // 10

    @property
    def grace_ms(self) -> int:
        return min(_LONGEST_GRACE_MS, self.lost_after_ms // 4)

    @property
    def given_up_after_ms(self) -> int:
        return self.lost_after_ms - self.lost_after_ms // 20

    @property
    def look_each_ms(self) -> int:
        """How often to look for those that are silent."""
        return max(_SHORTEST_STEP_MS, self.heartbeat_ms // 20)
