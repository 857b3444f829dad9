"""Which task on standby starts in which room: as the keeper of this machine decides it. Pure but for tasks'
flags.

    A task that ends leaves its room to the next of its lane on its node; until its end is settled, also to
    one that comes later. One that has nobody to wait for is given back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rota.backends.kubernetes.task import PodTask


class Moves(NamedTuple):
    released: list[tuple[PodTask, PodTask]]
    """Those on standby that may start, each with the task whose room it gets."""
    returned: list[PodTask]


def moves_of(tasks: Iterable[PodTask]) -> Moves:
    """For tasks of one lane on one node, in the order in which they came."""
    every = list(tasks)
    given = {task.room_of for task in every if task.room_of}
    waiting = [task for task in every if task.is_standby and task.over is None and not task.is_to_stop]
    rooms = [
        task
        for task in every
        if task.over is not None
        and not task.is_standby
        and task.returned_ms is None
        and not task.has_left_room
        and task.pod_name not in given
    ]
    released = list(zip(waiting, rooms, strict=False))
    rest = waiting[len(released) :]
    is_anybody_there = released or any(task.over is None and not task.is_standby for task in every)
    return Moves(released, [] if is_anybody_there else rest)
