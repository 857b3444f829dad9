"""Room by amounts alone: what can be said without placing anything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rota.engine.calendar.timeline import Timeline
from rota.engine.placing.signature import Signature
from rota.engine.placing.work import Seat, Work
from rota.snapshot.arrays import Bools, Int64s


def minds_where(work: Work) -> bool:
    """Whether anything but amounts decides where its tasks can go."""
    return bool(work.topology) or any(
        signature.needs_turns or signature.demand.uses_gpu for signature in work.signatures
    )


def any_seats(work: Work, free: Int64s) -> list[Seat] | None:
    """Seats by amounts alone, the roomiest nodes first. Good enough for a start that nobody is told as
    a promise: it is planned anew in every cycle, and when its time comes the scores decide."""
    if work.counts == (1,):
        has_room = _has_room(work.signatures[0], free)
        first = int(has_room.argmax())
        return [Seat(0, first, ())] if has_room[first] else None
    if len(work.signatures) > 1:
        free = free.copy()
    seats: list[Seat] = []
    for group, (signature, count) in enumerate(zip(work.signatures, work.counts, strict=True)):
        fits = _fitting(signature, count, free)
        if len(work.signatures) == 1 and fits.sum() < work.needed:
            return None
        for position in np.argsort(-fits, kind="stable")[:count].tolist():
            taken = min(count, int(fits[position]))
            if not taken:
                break
            seats += [Seat(group, position, ())] * taken
            count -= taken
            if len(work.signatures) > 1:
                free[:, position] -= taken * signature.demand.take
    return seats if len(seats) >= work.needed else None


_AT_ONCE = 8
"""So many moments are looked at together: more don't stay in the cache, and few are ever needed."""


def likely(moments: list[int], length_ms: int, work: Work, line: Timeline) -> Iterator[int]:
    """Of moments for a start of work of one kind those from which on, by each amount alone, there is room
    enough for so long. The first is taken as it is: mostly it will do."""
    demand, count, needed = work.signatures[0].demand, work.counts[0], work.needed
    taken = [(row, int(demand.take[row])) for row in demand.taken_rows[:, 0].tolist()]
    yield from moments[:1]
    for first in range(1, len(moments), _AT_ONCE):
        left = np.array(moments[first : first + _AT_ONCE])
        for row, take in taken:
            left = left[_room_for(take, count, line.free_at(left, row)) >= needed]
            if not len(left):
                break
        for start_ms in left.tolist():
            least = (line.least(row, start_ms, start_ms + length_ms) for row, _ in taken)
            if all(
                _room_for(take, count, free) >= needed for (_, take), free in zip(taken, least, strict=True)
            ):
                yield start_ms


def _room_for(take: int, count: int, free: Int64s) -> Int64s:
    """How many tasks that take so much fit in all, at most so many on a node; [..., node] is free."""
    fits: Int64s = np.maximum(free // take, 0)
    room: Int64s = np.minimum(fits, count, out=fits).sum(axis=-1)
    return room


def _fitting(signature: Signature, count: int, free: Int64s) -> Int64s:
    """How many such tasks fit on each node by amounts, at most so many."""
    if count == 1:
        return _has_room(signature, free).astype(np.int64)
    fits = np.where(signature.static_mask, count, 0)
    for row, need in signature.demand.asked:
        if take := int(signature.demand.take[row]):
            np.minimum(fits, free[row] // take, out=fits)
        else:
            fits[free[row] < need] = 0
    return np.maximum(fits, 0, out=fits)


def _has_room(signature: Signature, free: Int64s) -> Bools:
    """Which nodes have room for one such task by amounts."""
    has_room = signature.static_mask.copy()
    for row, need in signature.demand.asked:
        has_room &= free[row] >= need
    return has_room


def may_fit(work: Work, free: Int64s) -> bool:
    """By amounts alone, whether there is room for what is needed: cheap, and never wrongly no."""
    if work.total == 1:
        return any(
            _has_room(signature, free).any()
            for signature, count in zip(work.signatures, work.counts, strict=True)
            if count
        )
    fitting = 0
    for signature, count in zip(work.signatures, work.counts, strict=True):
        fitting += min(count, int(_fitting(signature, count, free).sum()))
    return fitting >= work.needed
