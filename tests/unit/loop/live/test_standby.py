"""Short tasks of arrays are handed ahead: enough for a moment, and more when half of them are used."""

from __future__ import annotations

import pytest

from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.loop.live.standby import SHORT_MS, WINDOW_MS, Standby
from rota.model.ids import JobId, NodeName
from rota.model.plan import Plan, Waiting
from rota.model.reasons import Insufficient, QueuePaused, QuotaReached, TooEarly
from rota.model.verdict import Kind, Reason, Refusal, Verdict
from rota.plugins.node_ready import NodeCordoned
from rota.plugins.pool import NotInPool
from rota.store.writing.batch import Attempt, Batch
from tests.stored import job

HERE = NodeName("here")
RUN_MS = 20
ENOUGH = 2 * WINDOW_MS // RUN_MS
"""For two that run at a time."""


def element(index: int, phase: TaskPhase | None) -> JobState:
    live = () if phase is None else (LiveTask(0, 1, HERE, phase, bound_ms=0),)
    return job(f"7.{index}", phase="succeeded" if phase is None else "running", live=live)


def elements(indices: range, phase: TaskPhase | None) -> list[JobState]:
    return [element(index, phase) for index in indices]


def ran(index: int, run_ms: int = RUN_MS) -> Attempt:
    return Attempt(JobId(f"7.{index}"), 0, 1, HERE, (), 0, started_ms=100, ended_ms=100 + run_ms)


def waiting(*ids: str) -> Plan:
    return Plan(waiting=(Waiting(tuple(map(JobId, ids)), Verdict(Kind.NOT_NOW, ())),))


def handed(standby: Standby, plan: Plan) -> list[str]:
    return [str(job_id) for job_id, _ in standby.seats(plan)]


QUEUE = [f"7.{index}" for index in range(100, 200)]


@pytest.fixture
def standby() -> Standby:
    """Two run, one has ended."""
    standby = Standby()
    standby.kept(Batch(jobs=elements(range(2), TaskPhase.RUNNING)))
    standby.kept(Batch(jobs=[element(2, None)], attempts=[ran(2)]))
    return standby


def test_nothing_is_handed_ahead_before_it_is_known_that_they_are_short() -> None:
    standby = Standby()
    assert not standby.kept(Batch(jobs=elements(range(2), TaskPhase.RUNNING)))
    assert handed(standby, waiting(*QUEUE)) == []


def test_so_many_as_last_for_the_window(standby: Standby) -> None:
    assert handed(standby, waiting(*QUEUE)) == QUEUE[:ENOUGH]
    assert handed(standby, waiting(*QUEUE[:3])) == QUEUE[:3]


def test_more_when_half_is_used(standby: Standby) -> None:
    assert not standby.kept(Batch(jobs=elements(range(100, 100 + ENOUGH), TaskPhase.STANDBY)))
    assert not standby.kept(Batch(jobs=elements(range(100, 100 + ENOUGH // 2 - 1), None)))
    assert handed(standby, waiting(*QUEUE)) == []
    assert standby.kept(Batch(jobs=[element(100 + ENOUGH // 2, None)])), "it is time"
    assert len(handed(standby, waiting(*QUEUE))) == ENOUGH // 2


def test_tasks_that_are_not_short_gain_nothing(standby: Standby) -> None:
    assert not standby.kept(Batch(jobs=[element(2, None)], attempts=[ran(2, run_ms=100 * SHORT_MS)]))
    assert handed(standby, waiting(*QUEUE)) == []


def test_nothing_while_somebody_else_waits(standby: Standby) -> None:
    others = waiting("8").waiting
    assert handed(standby, Plan(waiting=(*waiting(*QUEUE).waiting, *others))) == []
    assert handed(standby, Plan(waiting=others)) == []


def test_nothing_where_none_runs(standby: Standby) -> None:
    standby.kept(Batch(jobs=[element(0, None), element(1, TaskPhase.STANDBY)]))
    assert handed(standby, waiting(*QUEUE)) == []


def test_an_array_that_is_over_is_forgotten(standby: Standby) -> None:
    assert not standby.kept(Batch(jobs=elements(range(2), None)))
    assert not standby.kept(Batch(jobs=elements(range(2), TaskPhase.RUNNING))), (
        "how long is to be learnt anew"
    )


@pytest.mark.parametrize(
    "reason", [TooEarly(1), QueuePaused("q"), NodeCordoned(), QuotaReached(("p",), "cpu", 1)]
)
def test_nothing_for_those_who_wait_for_more_than_room(standby: Standby, reason: Reason) -> None:
    reasons = (Refusal(Insufficient("cpu", 1), 1), Refusal(reason, 1))
    plan = Plan(waiting=(Waiting(tuple(map(JobId, QUEUE)), Verdict(Kind.NOT_NOW, reasons)),))
    assert handed(standby, plan) == []


def test_nodes_that_never_would_do_are_no_hindrance(standby: Standby) -> None:
    reasons = (Refusal(Insufficient("cpu", 1), 1), Refusal(NotInPool(), 1))
    plan = Plan(waiting=(Waiting(tuple(map(JobId, QUEUE)), Verdict(Kind.NOT_NOW, reasons)),))
    assert handed(standby, plan) == QUEUE[:ENOUGH]
