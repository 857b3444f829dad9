"""Room by amounts alone: what can be said without placing anything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rota.engine.signature import Signature
from rota.engine.work import Seat, Work

Int64s = NDArray[np.int64]


def least_need(work: Work) -> Int64s:
    """What the cluster as a whole must have free for the least of the work: never too much."""
    if len(work.signatures) == 1:
        return work.signatures[0].demand.take * work.needed
    takes = np.stack([signature.demand.take for signature in work.signatures])
    if work.needed == work.total:
        whole: Int64s = np.array(work.counts) @ takes
        return whole
    least: Int64s = takes.min(axis=0) * work.needed
    return least


def minds_where(work: Work) -> bool:
    """Whether anything but amounts decides where its tasks can go."""
    return bool(work.topology) or any(
        signature.needs_turns or signature.demand.uses_gpu for signature in work.signatures
    )


def any_seats(work: Work, free: Int64s) -> list[Seat] | None:
    """Seats by amounts alone, the roomiest nodes first. Good enough for a start that nobody is told as
    a promise: it is planned anew in every cycle, and when its time comes the scores decide."""
    if len(work.signatures) > 1:
        free = free.copy()
    seats: list[Seat] = []
    for group, (signature, count) in enumerate(zip(work.signatures, work.counts, strict=True)):
        fits = _fitting(signature, count, free)
        if len(work.signatures) == 1 and fits.sum() < work.needed:
            return None
        for position in np.argsort(-fits, kind="stable").tolist():
            taken = min(count, int(fits[position]))
            if not taken:
                break
            seats += [Seat(group, position, ())] * taken
            count -= taken
            if len(work.signatures) > 1:
                free[:, position] -= taken * signature.demand.take
    return seats if len(seats) >= work.needed else None


def _fitting(signature: Signature, count: int, free: Int64s) -> Int64s:
    """How many such tasks fit on each node by amounts, at most so many."""
    fits = np.where(signature.static_mask, count, 0)
    for row, need in signature.demand.asked:
        if take := int(signature.demand.take[row]):
            np.minimum(fits, free[row] // take, out=fits)
        else:
            fits[free[row] < need] = 0
    return np.maximum(fits, 0, out=fits)


def may_fit(work: Work, free: Int64s) -> bool:
    """By amounts alone, whether there is room for what is needed: cheap, and never wrongly no."""
    fitting = 0
    for signature, count in zip(work.signatures, work.counts, strict=True):
        fitting += min(count, int(_fitting(signature, count, free).sum()))
    return fitting >= work.needed
