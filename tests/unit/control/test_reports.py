"""When something happened, as far as a node is to be believed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.backends.backend import TaskEnded, TaskRef, TaskStarted
from rota.control.draft import Draft
from rota.control.memory import Memory
from rota.control.reports import _command
from rota.lifecycle.state import EndReason, LiveTask, TaskEnd, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.policy import Policy
from tests.stored import job

REF = TaskRef(JobId("1"), 0, 1)
BOUND_MS, NOW_MS = 1000, 5000


def drafted(started_ms: int | None = None) -> Draft:
    phase = TaskPhase.BOUND if started_ms is None else TaskPhase.RUNNING
    task = LiveTask(0, 1, NodeName("n1"), phase, BOUND_MS, started_ms)
    memory = Memory(Policy())
    state = job("1", phase="scheduled" if started_ms is None else "running", live=(task,), fence=1)
    memory.jobs[REF.job] = replace(state, started_ms=started_ms)
    return Draft(memory, NOW_MS, lambda: 0.5)


@pytest.mark.covers("agent-4")
@pytest.mark.parametrize("said_ms, counts_ms", [(10, BOUND_MS), (2000, 2000), (9000, NOW_MS)])
def test_a_start_is_neither_before_its_binding_nor_in_the_future(said_ms: int, counts_ms: int) -> None:
    draft = drafted()
    _command(TaskStarted(REF, said_ms))(draft)
    [attempt] = draft.sealed().attempts
    assert attempt.started_ms == counts_ms


@pytest.mark.parametrize("said_ms, counts_ms", [(10, 3000), (4000, 4000), (9000, NOW_MS)])
def test_an_end_is_neither_before_its_start_nor_in_the_future(said_ms: int, counts_ms: int) -> None:
    draft = drafted(started_ms=3000)
    _command(TaskEnded(REF, said_ms, TaskEnd(EndReason.EXITED, exit_code=0)))(draft)
    [attempt] = draft.sealed().attempts
    assert (attempt.started_ms, attempt.ended_ms) == (3000, counts_ms)
