"""What `decide` answers: instructions and reasons, nothing done yet."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.model.calendar import PlannedStart
from rota.model.ids import JobId, NodeName
from rota.model.verdict import Refusal, Verdict


class Binding(Struct, frozen=True, omit_defaults=True):
    job: JobId
    rank: int
    node: NodeName
    gpu_devices: tuple[int, ...] = ()


class EvictionCause(Enum):
    PREEMPTED = "preempted"
    RECLAIMED = "reclaimed"
    TAINT = "taint"
    MAINTENANCE = "maintenance"


class Eviction(Struct, frozen=True, omit_defaults=True):
    """The task ends and its job goes back to pending. The room is held for `preemptor`: bindings
    of the same plan on this node are to be carried out after it."""

    job: JobId
    rank: int
    node: NodeName
    cause: EvictionCause
    preemptor: JobId = JobId("")
    ends_job: bool = False
    """The job is over instead: at maintenance, where it says so."""


class Waiting(Struct, frozen=True):
    """Jobs that wait for the same reasons: equal jobs are judged once."""

    jobs: tuple[JobId, ...]
    verdict: Verdict
    still: tuple[Refusal, ...] = ()
    """Where the end of others might help: what would be in the way of it without them. Only found out under
    rules that ask for it."""


class Scored(Struct, frozen=True):
    """How good the node of a job's first task is by each criterion that counts, in percent."""

    job: JobId
    total: int
    """Of all of them, by their weights."""
    criteria: tuple[tuple[str, int], ...]


class PluginFault(Struct, frozen=True):
    """A plugin raised or took too long; its say was left out, the rest went on."""

    plugin: str
    call: str
    error: str
    job: JobId


class Plan(Struct, frozen=True):
    bindings: tuple[Binding, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    faults: tuple[PluginFault, ...] = ()
    starts: tuple[PlannedStart, ...] = ()
    """Of waiting jobs that have a place in the calendar, by start."""
    displacing: tuple[Waiting, ...] = ()
    """Jobs that others go for, and why they found no room before. Only under rules that ask for it."""
    scored: tuple[Scored, ...] = ()
    """Of jobs that it starts, the first so many, under rules that ask for it."""
