"""Tasks that run again though nobody asked for a retry: evicted ones, and those whose node was lost."""

from __future__ import annotations

import pytest

from rota.lifecycle.advance import Objection, Refused
from rota.lifecycle.state import EndReason, Phase
from rota.model.causes import Cause
from rota.model.run import Retry
from tests.unit.lifecycle.following import Followed, follow


@pytest.mark.covers("prio-2")
def test_an_evicted_job_stops_and_waits_again_without_a_retry_counted() -> None:
    job = follow().run(0).evict(0, by="99")
    assert (job.told, job.phase, job.live()) == (["stop 0 on n0"], Phase.RUNNING, {0: "stopping"})
    job.stopped(0)
    assert (job.phase, job.state.cause, job.state.preempted_by) == (Phase.PENDING, Cause.PREEMPTED, ("99",))
    assert (job.state.retries, job.state.not_before_ms, job.state.attempt) == (0, 0, 2)


def test_whoever_evicts_it_again_is_noted_once() -> None:
    job = follow().run(0).evict(0, by="99").stopped(0).run(0).evict(0, by="98").stopped(0)
    assert job.run(0).evict(0, by="99").state.preempted_by == ("99", "98")


@pytest.mark.parametrize(
    ("cause", "shown"),
    [("reclaimed", Cause.PREEMPTED), ("taint", Cause.TAINT), ("maintenance", Cause.MAINTENANCE)],
)
def test_says_why_it_was_evicted(cause: str, shown: Cause) -> None:
    job = follow().run(0).evict(0, by="", cause=cause).stopped(0)
    assert (job.state.cause, job.state.preempted_by) == (shown, ())


@pytest.mark.covers("prio-2")
def test_an_evicted_task_that_ends_by_itself_first_is_done() -> None:
    assert follow().run(0).evict(0).exit(0).phase is Phase.SUCCEEDED
    gang = follow(tasks=2).run(0, 1).evict(0, 1).exit(1).exit(0)
    assert (gang.phase, gang.state.attempt) == (Phase.SUCCEEDED, 1)


def test_an_evicted_task_that_fails_as_it_is_stopped_waits_again() -> None:
    job = follow().run(0).evict(0).exit(0, code=143)
    assert (job.phase, job.state.cause, job.state.failed) == (Phase.PENDING, Cause.PREEMPTED, ())


@pytest.mark.covers("gang-1", "prio-2")
def test_a_gang_that_can_spare_a_task_goes_on_without_it() -> None:
    job = follow(tasks=3, min_available=2).run(0, 1, 2).evict(1)
    assert (job.told, job.live()) == (["stop 1 on n1"], {0: "running", 1: "stopping", 2: "running"})
    job.stopped(1)
    assert (job.phase, job.live(), job.state.attempt) == (Phase.RUNNING, {0: "running", 2: "running"}, 1)
    assert list(job.state.record().waiting_ranks()) == [1]


@pytest.mark.covers("gang-1", "prio-2")
def test_a_gang_that_cannot_spare_a_task_stops_as_a_whole_and_begins_anew() -> None:
    job = follow(tasks=3).run(0, 1, 2).exit(0).evict(1)
    assert (job.told, job.state.restarting) == (["stop 1 on n1", "stop 2 on n2"], True)
    assert job.stopped(2).phase is Phase.RUNNING
    job.stopped(1)
    assert (job.phase, job.state.attempt, job.state.done) == (Phase.PENDING, 2, ())


def test_the_room_of_an_evicted_task_is_gone_for_the_engine_and_that_of_others_is_not() -> None:
    job = follow(tasks=3).run(0, 1, 2).evict(1)
    record = job.state.record()
    assert [placement.rank for placement in record.placements] == [0, 2]
    assert list(record.waiting_ranks()) == []
    assert list(job.stopped(1).state.record().waiting_ranks()) == []


@pytest.mark.covers("time-5")
def test_a_job_that_maintenance_ends_fails_with_that_cause() -> None:
    job = follow(tasks=2, min_available=1).run(0, 1).evict(0, by="", cause="maintenance", ends_job=True)
    assert (job.told, job.state.ending) == (["stop 0 on n0", "stop 1 on n1"], Phase.FAILED)
    job.stopped(0, 1)
    assert (job.phase, job.state.cause) == (Phase.FAILED, Cause.MAINTENANCE)


def test_what_ended_meanwhile_is_passed_over_and_the_rest_evicted() -> None:
    job = follow(tasks=3, min_available=1).run(0, 1, 2).exit(1).evict(0, 1)
    assert (job.told, job.live()) == (["stop 0 on n0"], {0: "stopping", 2: "running"})


def test_a_task_that_stops_anyway_can_still_be_evicted_since_its_room_is_given_away() -> None:
    job = follow().run(0).cancel()
    assert [one.rank for one in job.state.record().placements] == [0]
    job.evict(0)
    assert job.state.record().placements == ()
    assert (job.told, job.state.ending, job.state.cause) == (["stop 0 on n0"], Phase.CANCELLED, Cause.BY_USER)
    assert job.state.preempted_by == ()


@pytest.mark.parametrize(
    ("job", "ranks", "why"),
    [
        (follow(), (0,), Objection.NOT_LIVE),
        (follow().run(0), (), Objection.NOT_LIVE),
        (follow().run(0).evict(0), (0,), Objection.NOT_LIVE),
        (follow().run(0), (1,), Objection.UNKNOWN_RANK),
    ],
)
def test_what_cannot_be_evicted(job: Followed, ranks: tuple[int, ...], why: Objection) -> None:
    with pytest.raises(Refused) as refused:
        job.evict(*ranks)
    assert refused.value.why is why


@pytest.mark.parametrize("policy", ["fail-job", "restart-task"])
@pytest.mark.parametrize("reason", [EndReason.LOST, EndReason.STOPPED])
def test_a_lost_task_and_one_that_stopped_unasked_run_again_without_a_retry_counted(
    reason: EndReason, policy: str
) -> None:
    job = follow(on_task_failure=policy).run(0).ends(0, reason, "the node is gone")
    assert (job.phase, job.state.cause, job.state.message) == (
        Phase.PENDING,
        Cause.NODE_LOST,
        "the node is gone",
    )
    assert (job.state.retries, job.state.not_before_ms, job.state.attempt) == (0, 0, 2)


@pytest.mark.covers("gang-5")
@pytest.mark.parametrize("policy", ["fail-job", "restart-job", "continue"])
def test_a_gang_that_lost_a_task_it_needs_begins_anew(policy: str) -> None:
    job = follow(tasks=2, on_task_failure=policy, retry=Retry(limit=1)).run(0, 1).lose(0)
    assert (job.told, job.state.restarting) == (["stop 1 on n1"], True)
    job.stopped(1)
    assert (job.phase, job.state.cause, job.state.retries) == (Phase.PENDING, Cause.NODE_LOST, 0)


@pytest.mark.covers("gang-5")
def test_a_gang_that_lost_a_task_it_can_spare_goes_on() -> None:
    job = follow(tasks=3, min_available=2).run(0, 1, 2).lose(0)
    assert (job.phase, job.told, job.live()) == (Phase.RUNNING, [], {1: "running", 2: "running"})
    assert job.state.cause is Cause.NODE_LOST


@pytest.mark.covers("gang-5")
def test_restart_task_is_what_it_says_for_lost_tasks_too() -> None:
    job = follow(tasks=2, on_task_failure="restart-task").run(0, 1).lose(0)
    assert (job.phase, job.told, job.live()) == (Phase.RUNNING, [], {1: "running"})


def test_nodes_may_be_lost_while_the_job_stops() -> None:
    job = follow(tasks=3).run(0, 1, 2).lose(0).lose(1).lose(2)
    assert (job.phase, job.state.attempt) == (Phase.PENDING, 2)
    assert follow().run(0).cancel().lose(0).phase is Phase.CANCELLED
