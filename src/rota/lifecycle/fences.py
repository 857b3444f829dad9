"""Fences: the number of each start of a task, and which epoch it was given out in.

    fence = epoch · 2²⁰ + 1, 2, 3 …       epoch: about when a server began to lead, in seconds

A server that begins to lead begins an epoch, later than all that its database and its folders know of. So a
fence that was given out before a database was put back from a copy is never given out again: neither to a
job that gets the number of one that the copy didn't know, nor to a job that the copy shows as waiting.
Those of a job only rise. Epoch 0: whatever was before there were epochs.
"""

from __future__ import annotations

_STARTS = 1 << 20
"""Of one job in one epoch. A job that is started more often goes on into numbers of the next seconds."""


def fence_before(epoch: int) -> int:
    """All that are given out in the epoch are above it."""
    return epoch * _STARTS


def epoch_of(fence: int) -> int:
    return fence // _STARTS
