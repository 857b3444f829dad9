"""The answer to "may it run longer": what that costs, what is in the way, and who starts later."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.ids import JobId, NodeName
from rota.model.plan import PluginFault


class Answer(Enum):
    GRANTED = "granted"
    IN_THE_WAY = "in the way"
    """Something that is promised or announced for its nodes: see `Extension.in_the_way`."""
    OVER_BUDGET = "over budget"
    """It would cost more than its user allows it to cost in all."""
    UNKNOWN_JOB = "unknown job"
    NOT_RUNNING = "not running"
    EVICTED = "evicted"
    """It runs, but is about to be evicted."""
    NO_LIMIT = "no limit"
    """It may run for ever already."""
    LIMIT_PASSED = "limit passed"
    """It is past its limit, and being ended."""
    ALREADY_RAN = "already ran"
    """It has run for longer than the limit that is asked for."""
    NOT_LONGER = "not longer"
    """Its limit is at least that already."""


class Obstacle(Enum):
    MAINTENANCE = "maintenance"
    RESERVATION = "reservation"
    """Of others."""
    RESERVATION_ENDS = "reservation ends"
    """The one that it runs in."""
    PROMISE = "promise"
    """A promised start of another job."""


class InTheWay(Struct, frozen=True):
    """An entry of the calendar that the job would run into."""

    obstacle: Obstacle
    name: str
    start_ms: int
    nodes: tuple[NodeName, ...]
    """Those of the job's nodes that are meant."""


class MovedStart(Struct, frozen=True):
    """A start that was planned and not promised, without the extension and with it."""

    job: JobId
    from_ms: int
    to_ms: int | None
    """None: it would have no place in the calendar."""


class Extension(Struct, frozen=True, omit_defaults=True):
    job: JobId
    answer: Answer
    limit_ms: int
    """The limit that is asked for, from its start."""
    had_ms: int | None = None
    end_ms: int | None = None
    """When the last of its tasks would have to end."""
    longest_ms: int | None = None
    """The longest limit that would be granted; None: there is no longest, or no question of one."""
    cost_micro: int = 0
    """What the additional time costs, if all of it is used."""
    in_the_way: tuple[InTheWay, ...] = ()
    """The first to begin first."""
    moved: tuple[MovedStart, ...] = ()
    others_moved: int = 0
    """How many starts move besides, of jobs that whoever asked may not see."""
    faults: tuple[PluginFault, ...] = ()

    @property
    def is_granted(self) -> bool:
        return self.answer is Answer.GRANTED
