"""Which events lead from which phase to which: the diagram of docs/lifecycle.md.

`advance` doesn't read it. A test compares both, so that what is drawn is what happens.
"""

from __future__ import annotations

from typing import NamedTuple

from rota.lifecycle.events import (
    Bound,
    CancelAsked,
    DeadlinePassed,
    DependencyEnded,
    Ended,
    Event,
    Held,
    Released,
    Returned,
    SetAside,
    Started,
    StartMissed,
)
from rota.lifecycle.state import Phase


class Transition(NamedTuple):
    before: Phase
    after: Phase
    events: tuple[type[Event], ...]


STARTS_IN = (Phase.CREATED, Phase.PENDING)
"""Where a job comes in: held or waiting for others, or not."""

TRANSITIONS = (
    Transition(Phase.CREATED, Phase.PENDING, (Released, DependencyEnded)),
    Transition(Phase.CREATED, Phase.FAILED, (StartMissed, SetAside)),
    Transition(Phase.CREATED, Phase.CANCELLED, (CancelAsked, DependencyEnded)),
    Transition(Phase.CREATED, Phase.TIMED_OUT, (DeadlinePassed,)),
    Transition(Phase.PENDING, Phase.CREATED, (Held,)),
    Transition(Phase.PENDING, Phase.SCHEDULED, (Bound,)),
    Transition(Phase.PENDING, Phase.FAILED, (StartMissed, SetAside)),
    Transition(Phase.PENDING, Phase.CANCELLED, (CancelAsked,)),
    Transition(Phase.PENDING, Phase.TIMED_OUT, (DeadlinePassed,)),
    Transition(Phase.SCHEDULED, Phase.RUNNING, (Started,)),
    Transition(Phase.SCHEDULED, Phase.PENDING, (Ended, Returned)),
    Transition(Phase.SCHEDULED, Phase.SUCCEEDED, (Ended,)),
    Transition(Phase.SCHEDULED, Phase.FAILED, (Ended, Returned)),
    Transition(Phase.SCHEDULED, Phase.CANCELLED, (Ended, Returned)),
    Transition(Phase.SCHEDULED, Phase.TIMED_OUT, (Ended, Returned)),
    Transition(Phase.RUNNING, Phase.PENDING, (Ended, Returned)),
    Transition(Phase.RUNNING, Phase.SUCCEEDED, (Ended,)),
    Transition(Phase.RUNNING, Phase.FAILED, (Ended, Returned)),
    Transition(Phase.RUNNING, Phase.CANCELLED, (Ended, Returned)),
    Transition(Phase.RUNNING, Phase.TIMED_OUT, (Ended, Returned)),
)
