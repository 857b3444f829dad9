"""What is answered to whoever asks about one pod of a live cluster."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.explanation import Remedy
from rota.model.ids import TaskName
from rota.views.why.view import WhyView


class NoSuchPod(Exception):
    """None of that name in that namespace."""


class Situation(Enum):
    WAITING = "waiting"
    HELD = "held"
    """It isn't even decided about."""
    BOUND = "bound"
    OVER = "over"
    ELSEWHERE = "of another scheduler"
    UNREADABLE = "unreadable"


class GangProgress(Struct, frozen=True):
    name: str
    present: int
    needed: int


class PodAnswer(Struct, frozen=True):
    pod: TaskName
    situation: Situation
    told: str = ""
    """Why, in a sentence; empty: the view says all."""
    scheduler: str = ""
    node: str = ""
    since_ms: int | None = None
    """When it was bound."""
    gang: GangProgress | None = None
    note: str = ""
    """What of its gang's annotation can't be used, and what is assumed instead."""
    view: WhyView | None = None
    supposed: str = ""
    """What the view takes to be otherwise than it is; empty: nothing."""
    remedies: tuple[Remedy, ...] = ()
    """Besides those of the view."""
