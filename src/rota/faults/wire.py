"""What a server and an agent say to each other, and how long each waits for the other."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from rota.backends.backend import TaskRef, TaskReport, TaskStart
from rota.faults.network import Received, Segment
from rota.model.node import Node

BEAT_S = 1.0
RECONNECTS_AFTER_S = 2.0
"""An agent whose beats aren't answered for so long dials anew."""
KILLS_AFTER_S = 4.0
"""An agent kills its tasks when the latest beat that was answered was sent so long ago: its lease is over."""
LOST_AFTER_S = 6.0
"""A server takes a node for lost when it has heard no beat for so long. The answer to a beat can't be sent
before the beat, so by then the agent's lease is over, whatever the network does."""


class Hello(Struct, frozen=True):
    """An agent dials. It has hung up on whoever it was connected to before."""

    node: Node
    dialled: int
    """How often it has, by now."""
    known: tuple[TaskRef, ...]
    """All that it was told to start and that isn't settled."""
    sent_s: float


class Welcome(Struct, frozen=True):
    dialled: int
    session: int
    sent_s: float
    """When the Hello was that it answers."""


class Beat(Struct, frozen=True):
    session: int
    sent_s: float


class BeatAnswer(Struct, frozen=True):
    session: int
    sent_s: float


class Start(Struct, frozen=True):
    tasks: tuple[TaskStart, ...]


class Stop(Struct, frozen=True):
    refs: tuple[TaskRef, ...]


class ChangeLimit(Struct, frozen=True):
    ref: TaskRef
    time_limit_ms: int


class Settle(Struct, frozen=True):
    refs: tuple[TaskRef, ...]


class Dismiss(Struct, frozen=True):
    """Nobody wants these: what has ended is settled by that, what runs is to stop."""

    refs: tuple[TaskRef, ...]


class Reports(Struct, frozen=True):
    reports: tuple[TaskReport, ...]


Order: TypeAlias = Start | Stop | ChangeLimit | Settle | Dismiss
ToAgent: TypeAlias = Welcome | BeatAnswer | Segment[Order] | Received
ToServer: TypeAlias = Hello | Beat | Segment[Reports] | Received
