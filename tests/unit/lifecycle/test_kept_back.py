from __future__ import annotations

import pytest

from rota.lifecycle.advance import advance, submitted
from rota.lifecycle.events import DependencyEnded, Released
from rota.lifecycle.kept_back import AwaitsJobs, DependencyUnmet, IsHeld, kept_back
from rota.lifecycle.state import JobState
from rota.model.ids import JobId
from rota.model.run import After, Dependency
from rota.model.verdict import Kind, Reason
from tests.kit.live import spec

pytestmark = pytest.mark.covers("first-4")
A, B = JobId("1"), JobId("2")


def came_in(**fields: object) -> JobState:
    return submitted(JobId("3"), 3, spec(**fields), 0).state  # type: ignore[arg-type]


def reasons(state: JobState) -> list[Reason]:
    verdict = kept_back(state)
    assert verdict is not None
    return [refusal.reason for refusal in verdict.refusals]


def test_what_waits_for_room_is_for_the_engine() -> None:
    assert kept_back(came_in()) is None


def test_a_hold_and_jobs_that_have_to_end_first() -> None:
    both = came_in(held=True, depends_on=(Dependency(A), Dependency(B, After.ANY)))
    assert reasons(both) == [IsHeld(), AwaitsJobs((A, B))]
    released = advance(both, Released("ada"), 1, 0.5).state
    assert reasons(released) == [AwaitsJobs((A, B))]
    one_left = advance(released, DependencyEnded(B, succeeded=False), 2, 0.5).state
    assert reasons(one_left) == [AwaitsJobs((A,))]
    assert kept_back(advance(one_left, DependencyEnded(A, succeeded=True), 3, 0.5).state) is None


def test_what_can_no_longer_follow_never_starts() -> None:
    waits = came_in(depends_on=(Dependency(A),))
    over = advance(waits, DependencyEnded(A, succeeded=False), 1, 0.5).state
    verdict = kept_back(over)
    assert verdict is not None
    assert verdict.kind is Kind.NEVER
    assert reasons(over) == [DependencyUnmet("job 1 didn't succeed")]
