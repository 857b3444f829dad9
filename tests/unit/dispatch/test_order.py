"""What is sent when: nothing before backends know what has ended, nothing to those who are to stop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from rota.backends.backend import TaskEnded, TaskRef, TaskReport
from rota.backends.registry import Registry
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.instructions import StartTask, StopTask
from rota.lifecycle.state import EndReason, TaskEnd, TaskPhase
from rota.model.ids import JobId, NodeName
from tests.obedient import NOW, ObedientBackend
from tests.unit.dispatch.jobs import Jobs, keep, sent

pytestmark = pytest.mark.covers("job-3")

HERE = NodeName("n1")


def start(ref: TaskRef) -> StartTask:
    return StartTask(ref.job, ref.rank, ref.fence, HERE)


def stop(ref: TaskRef) -> StopTask:
    return StopTask(ref.job, ref.rank, ref.fence, HERE)


def set_up() -> tuple[ObedientBackend, Jobs, Dispatcher]:
    backend = ObedientBackend()
    jobs = Jobs(*backend.here)
    return backend, jobs, Dispatcher(Registry([backend]), jobs, keep)


async def test_an_end_that_is_recorded_is_settled_before_anything_starts() -> None:
    """It was kept by an earlier server, or without anybody knowing: its room is given out by now, and the
    node isn't to leave it to somebody on standby as well."""

    backend, _, dispatcher = set_up()
    over = TaskRef(JobId("9"), 0, 1)
    backend.unsettled[over] = TaskEnded(over, NOW, TaskEnd(EndReason.EXITED, exit_code=0))
    await dispatcher.reconcile()
    assert backend.unsettled == {}
    assert backend.stopped == []


async def test_nothing_is_sent_between_reading_anew_and_reconciling() -> None:
    backend, jobs, dispatcher = set_up()
    await dispatcher.reconcile()
    dispatcher.await_reconciling()
    ref = jobs.has("1", HERE, TaskPhase.BOUND)
    dispatcher.carry_out([start(ref)])
    await sent(dispatcher)
    assert backend.seen == []
    await dispatcher.reconcile()
    await sent(dispatcher)
    assert [one.ref for one in backend.seen] == [ref]


async def test_a_task_that_is_to_stop_is_not_started_any_more() -> None:
    backend, jobs, dispatcher = set_up()
    await dispatcher.reconcile()
    ref = jobs.has("1", HERE, TaskPhase.STANDBY)
    dispatcher.carry_out([start(ref)])
    state = jobs.jobs[ref.job]
    jobs.jobs[ref.job] = replace(state, live=(replace(state.live[0], phase=TaskPhase.STOPPING),))
    dispatcher.carry_out([stop(ref)])
    await sent(dispatcher)
    assert backend.seen == []
    assert backend.stopped == [ref]


async def test_a_start_that_is_held_back_and_was_never_sent_has_stopped_when_told_to() -> None:
    backend, jobs, dispatcher = set_up()
    await dispatcher.reconcile()
    jobs.vacating[HERE] = {TaskRef(JobId("5"), 0, 1)}
    ref = jobs.has("1", HERE, TaskPhase.BOUND)
    dispatcher.carry_out([start(ref)])
    dispatcher.carry_out([stop(ref)])
    await sent(dispatcher)
    assert backend.stopped == []


async def test_one_that_may_have_been_sent_before_is_told_to_stop() -> None:
    """Its start is only repeated: if it counted as never sent, it would run on, recorded as stopped."""

    backend, jobs, dispatcher = set_up()
    ref = jobs.has("1", HERE, TaskPhase.BOUND)
    backend.started[ref] = None  # type: ignore[assignment]
    backend._stops_at_once = False
    jobs.vacating[HERE] = {TaskRef(JobId("5"), 0, 1)}
    await dispatcher.reconcile()
    dispatcher.carry_out([stop(ref)])
    await sent(dispatcher)
    assert backend.stopped == [ref]


@pytest.mark.covers("back-3")
async def test_a_job_with_an_image_ends_where_there_are_no_containers() -> None:
    """Nodes are chosen by a label; this is for those that somebody chose by name, or that lost it since."""
    backend, jobs, _ = set_up()
    kept: list[TaskReport] = []

    async def note(reports: Sequence[TaskReport]) -> Sequence[TaskReport]:
        kept.extend(reports)
        return ()

    dispatcher = Dispatcher(Registry([backend]), jobs, note)
    await dispatcher.reconcile()
    ref = jobs.has("1", HERE, TaskPhase.BOUND)
    state = jobs.jobs[ref.job]
    run = replace(state.spec.run, image="python:3.12")
    jobs.jobs[ref.job] = replace(state, spec=replace(state.spec, run=run))
    dispatcher.carry_out([start(ref)])
    await sent(dispatcher)
    assert backend.seen == []
    [report] = kept
    assert isinstance(report, TaskEnded)
    assert report.end.reason is EndReason.NOT_STARTED
    assert "runs no containers" in report.end.message
