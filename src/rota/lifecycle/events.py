"""What can happen to a job. Each is recorded before anything is done about it."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from rota.lifecycle.state import TaskEnd
from rota.model.causes import Cause
from rota.model.ids import JobId, NodeName
from rota.model.job import Promise
from rota.model.plan import EvictionCause
from rota.model.run import JobSpec


class Event(Struct, frozen=True, omit_defaults=True, tag_field="event", tag=lambda name: name):
    """The base of all; never used by itself."""


class Submitted(Event, frozen=True):
    spec: JobSpec | None
    """None: that of `like`, with another index."""
    number: int
    by: str
    like: JobId | None = None
    array_index: int | None = None


class Held(Event, frozen=True):
    by: str


class Released(Event, frozen=True):
    by: str


class DependencyEnded(Event, frozen=True):
    job: JobId
    succeeded: bool


class Seat(Struct, frozen=True, omit_defaults=True):
    """A node for one task."""

    rank: int
    node: NodeName
    gpu_devices: tuple[int, ...] = ()
    standby: bool = False


class Bound(Event, frozen=True):
    """The scheduler found room. Each seat gets the next fence, in order."""

    seats: tuple[Seat, ...]
    fences_above: int = 0
    """Where they go on, if the job's own are lower: they are of an epoch before."""


class Started(Event, frozen=True):
    rank: int
    fence: int


class Ended(Event, frozen=True):
    rank: int
    fence: int
    end: TaskEnd


class Returned(Event, frozen=True):
    """A task on standby that its node gives back unstarted."""

    rank: int
    fence: int


class Evicted(Event, frozen=True):
    ranks: tuple[int, ...]
    cause: EvictionCause
    preemptor: JobId = JobId("")
    ends_job: bool = False
    preemptor_project: str = ""
    """Who may know which job that is; the event outlives it."""


class Promised(Event, frozen=True):
    """None: what was promised can't be kept, since its nodes are gone."""

    promise: Promise | None


class LimitChanged(Event, frozen=True):
    time_limit_ms: int
    by: str


class CancelAsked(Event, frozen=True):
    by: str
    message: str = ""


class StartMissed(Event, frozen=True):
    """It wasn't started in the period in which it had to."""

    cause: Cause = Cause.START_MISSED


class DeadlinePassed(Event, frozen=True):
    pass


class SetAside(Event, frozen=True):
    """It can't be handled: it ends as failed, and whatever runs of it is stopped."""

    message: str


JobEvent: TypeAlias = (
    Submitted
    | Held
    | Released
    | DependencyEnded
    | Bound
    | Started
    | Ended
    | Returned
    | Evicted
    | Promised
    | LimitChanged
    | CancelAsked
    | StartMissed
    | DeadlinePassed
    | SetAside
)
