"""The decision: `decide(snapshot, policy, now) -> Plan`, and explanations of it.

The stages in the order of their use: `order` (who is next), `signature` and `score` (where it may
go and how good that is), `place` (one, many, gangs), `preempt`, `verdicts` (why not). `board` holds
the resources while a plan is made. Pure: no clock, no randomness, no I/O.
"""

from rota.engine.decide import decide

__all__ = ["decide"]
