"""What must hold, whatever goes wrong.

I0  no server, no agent and no controller ends by itself
I1  whatever was accepted reaches exactly one terminal state, by what really became of its tasks
I2  at most one task of a job and rank is alive; no start is obeyed twice; what has ended stays as it was
I3  no node is oversubscribed: cpu, memory, ports, exclusive use
I4  attempts neither overlap nor miss: what ran is recorded, and charged for at least as long as it ran
I5  after the faults the queue drains within two lease periods, beyond what the work itself takes
"""

from __future__ import annotations

CLOCK_MS = 60
"""How much longer a task may say that it ran than it is charged for: times are rounded, and moved between
clocks that seem to differ by so much when an answer is late."""


class Broken(Exception):
    """One of the rules is."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")


def demand(holds: bool, rule: str, text: str) -> None:
    if not holds:
        raise Broken(rule, text)
