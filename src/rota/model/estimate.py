"""When a waiting job will start, as its user is told."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Estimate(Struct, frozen=True, omit_defaults=True):
    """A start as it was told, to be compared with what came."""

    told_ms: int
    expected_ms: int
    bound_ms: int
    """Not later than this in nine of ten cases."""
    latest_ms: int | None = None
    """By the time limits alone; None: they don't tell."""


class NoStart(Enum):
    """Why no start of a job is told."""

    NEVER = "never"
    """It can't start on this cluster as it is."""
    NOT_YET = "not yet"
    """It hasn't been worked out."""
    HELD = "held"
    DEPENDENCY = "dependency"
    """It waits for other jobs to end."""
    QUEUE = "queue"
    """Its queue is paused or closed."""
    QUOTA = "quota"
    """A quota or a limit is used up; who holds it may do so for ever."""
    PARTNER = "partner"
    """The job that it connects to hasn't started."""
    NODES = "nodes"
    """Those that would do take nothing at the moment."""
    ENDLESS = "endless"
    """What has its room, or goes first, has no time limit and no run time that was learnt."""
    STARTED = "started"
    OVER = "over"
