"""Jobs that read what their user sends: it is sent once, so a second start would lack it."""

from __future__ import annotations

from typing import Any

from rota.lifecycle.ending import bring_to_end
from rota.lifecycle.live import Live
from rota.lifecycle.outcome import Advanced
from rota.lifecycle.state import JobState, LiveTask, Phase
from rota.model.causes import Cause


def has_read_input(state: JobState, task: LiveTask) -> bool:
    """Or may have: input is passed on to a task as soon as it is known to run."""
    return state.spec.run.takes_input and task.started_ms is not None


def without_its_input(state: JobState, live: Live, at_ms: int, message: str = "", **changes: Any) -> Advanced:
    """It can't go on, and isn't started again. `live`: those of its tasks that still have a node."""
    return bring_to_end(state, live, Phase.FAILED, Cause.INPUT_LOST, at_ms, message, **changes)
