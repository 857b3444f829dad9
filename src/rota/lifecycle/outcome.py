"""What asking for a step leads to: the next state and what is to be done, or a refusal."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from rota.lifecycle.instructions import Instruction
from rota.lifecycle.state import JobState


class Advanced(Struct, frozen=True):
    state: JobState
    """The very same object as before if nothing has changed."""
    instructions: tuple[Instruction, ...] = ()


class Objection(Enum):
    """Why something may not happen to a job as it stands."""

    OVER = "over"
    SUBMITTED_BEFORE = "submitted-before"
    NOT_PENDING = "not-pending"
    """Held, or waiting for other jobs: it may have no room yet."""
    HAS_ROOM = "has-room"
    """Only a job none of whose tasks has a node may be treated so."""
    STOPPING = "stopping"
    """Its tasks have been told to stop."""
    NO_SEATS = "no-seats"
    UNKNOWN_RANK = "unknown-rank"
    NOT_WAITING = "not-waiting"
    """The rank has a node, is done, or was named twice."""
    NOT_LIVE = "not-live"
    """None of these tasks has a node that could be taken from it."""
    STALE_FENCE = "stale-fence"
    """The report is of an earlier start of the task, or of one that never was."""
    STARTED_BEFORE = "started-before"
    TOO_FEW = "too-few"
    """Fewer tasks would run than must run together."""
    NOT_ALONE = "not-alone"
    """Standby is for tasks that need no others beside them."""
    NO_LIMIT = "no-limit"


class Refused(Exception):
    """It may not happen, and nothing has changed. `detail` says what to do where somebody can."""

    def __init__(self, why: Objection, detail: str) -> None:
        super().__init__(detail)
        self.why = why
        self.detail = detail
