"""Jobs through the whole of a live cluster, with a real database and a backend that does what it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rota.backends.backend import BackendUnavailable, TaskRef
from rota.control.errors import BadInput, Conflict, NotFound
from rota.intake.submissions import Entry, Submission
from rota.lifecycle.state import EndReason, Phase, TaskEnd, TaskPhase
from rota.model.causes import Cause
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import Priority
from rota.model.run import After, Dependency, OnTaskFailure, Retry
from rota.store.writing.batch import NodeSettings
from tests.kit.live import ADA, FAILURE, OPERATOR, live, running, spec, submit, until
from tests.kit.waiting import eventually
from tests.obedient import ObedientBackend, node

pytestmark = pytest.mark.virtual_time


@pytest.mark.covers("job-1")
async def test_a_job_runs_and_ends(tmp_path: Path) -> None:
    backend = ObedientBackend(at_once=True)
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec())
        assert job.id == "1"
        assert job.phase is Phase.PENDING
        done = await until(desk, job, Phase.SUCCEEDED)
        assert done.live == ()
        kept, [attempt] = await desk.jobs.job_with_attempts(job.id) or (None, [])
        assert kept == done
        assert attempt.end is not None
        assert attempt.end.succeeded
        await eventually(lambda: not backend.unsettled)


async def test_those_who_have_no_room_wait_for_it(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with live(tmp_path, backend) as desk:
        first, second = await submit(desk, spec(cpus=2), spec(cpus=2))
        await until(desk, first, Phase.RUNNING)
        assert (await desk.questions.why(second.id, None, ADA)).explanation.verdict is not None
        backend.end_job(first.id)
        await until(desk, second, Phase.RUNNING)


@pytest.mark.covers("job-6")
async def test_a_failed_job_is_tried_again_after_a_pause(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec(retry=Retry(limit=1, backoff_ms=20)))
        await until(desk, job, Phase.RUNNING)
        backend.end_job(job.id, FAILURE)
        await eventually(lambda: len(backend.seen) == 2)
        again = await until(desk, job, Phase.RUNNING)
        assert again.retries == 1
        backend.end_job(job.id, FAILURE)
        over = await until(desk, job, Phase.FAILED)
        assert over.last_end is not None
        assert over.last_end.exit_code == 3


@pytest.mark.covers("prio-2")
async def test_a_preemptor_starts_once_its_victim_has_stopped(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2), stops_at_once=False)
    async with live(tmp_path, backend) as desk:
        [low] = await submit(desk, spec(cpus=2, priority=Priority.LOW))
        await until(desk, low, Phase.RUNNING)
        [high] = await submit(desk, spec(cpus=2, priority=Priority.MEDIUM))
        await until(desk, high, Phase.SCHEDULED)
        [victim] = [ref for ref in backend.started if ref.job == low.id]
        await eventually(lambda: victim in backend.stopped)
        assert [start.ref.job for start in backend.seen] == [low.id]
        backend.end(victim, TaskEnd(EndReason.STOPPED))
        await until(desk, high, Phase.RUNNING)
        waiting = await until(desk, low, Phase.PENDING)
        assert waiting.cause is Cause.PREEMPTED
        backend.end_job(high.id)
        await until(desk, low, Phase.RUNNING)


@pytest.mark.covers("gang-5")
async def test_one_failed_task_ends_a_gang(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec(tasks=3, on_task_failure=OnTaskFailure.FAIL_JOB))
        await eventually(lambda: len(backend.started) == 3)
        await until(desk, job, Phase.RUNNING)
        backend.end(next(ref for ref in backend.started if ref.rank == 1), FAILURE)
        await until(desk, job, Phase.FAILED)
        assert {ref.rank for ref in backend.stopped} == {0, 2}


async def test_jobs_wait_for_those_they_depend_on(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        [first] = await submit(desk, spec())
        after_success, after_failure = await submit(
            desk,
            spec(depends_on=(Dependency(first.id),)),
            spec(depends_on=(Dependency(first.id, After.FAILURE),)),
        )
        assert after_success.phase is Phase.CREATED
        await until(desk, first, Phase.RUNNING)
        backend.end_job(first.id)
        await until(desk, after_success, Phase.RUNNING)
        never = await until(desk, after_failure, Phase.CANCELLED)
        assert never.cause is Cause.DEPENDENCY_FAILED
        [late] = await submit(desk, spec(depends_on=(Dependency(first.id),)))
        await until(desk, late, Phase.RUNNING)
        with pytest.raises(BadInput, match="there is no job 4711"):
            await submit(desk, spec(depends_on=(Dependency(JobId("4711")),)))


@pytest.mark.covers("job-3")
async def test_after_a_restart_what_runs_is_found_and_what_is_gone_runs_again(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with live(tmp_path, backend) as desk:
        kept, gone, waits = await submit(desk, spec(), spec(), spec())
        await until(desk, kept, Phase.RUNNING)
        await until(desk, gone, Phase.RUNNING)
    del backend.started[next(ref for ref in backend.started if ref.job == gone.id)]
    backend.seen.clear()
    async with live(tmp_path, backend) as desk:
        assert (await desk.jobs.job(kept.id)).phase is Phase.RUNNING  # type: ignore[union-attr]
        again = await until(desk, gone, Phase.RUNNING)
        assert again.fence == 2
        assert [start.ref.job for start in backend.seen] == [gone.id]
        backend.end_job(kept.id)
        await until(desk, kept, Phase.SUCCEEDED)
        await until(desk, waits, Phase.RUNNING)


@pytest.mark.covers("job-3")
async def test_an_end_that_came_while_the_server_was_away_counts(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec())
        await until(desk, job, Phase.RUNNING)
    backend.end_job(job.id)
    async with live(tmp_path, backend) as desk:
        await until(desk, job, Phase.SUCCEEDED)
        _, attempts = await desk.jobs.job_with_attempts(job.id) or (None, [])
        assert len(attempts) == 1


async def test_cancelling_stops_what_runs(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec())
        await until(desk, job, Phase.RUNNING)
        await desk.jobs.cancel(job.id, ADA, "not needed")
        over = await until(desk, job, Phase.CANCELLED)
        assert over.cause is Cause.BY_USER
        with pytest.raises(Conflict):
            await desk.jobs.cancel(job.id, ADA, "")


@pytest.mark.covers("time-6")
async def test_a_paused_queue_starts_nothing_until_it_opens(tmp_path: Path) -> None:
    from rota.model.calendar import QueueMode, QueueState

    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        queue = QueueName("default")
        await desk.queues.set_queue(QueueState(queue, QueueMode.PAUSED, 1, "a moment"), ADA)
        [job] = await submit(desk, spec())
        await asyncio.sleep(0.1)
        assert backend.seen == []
        await desk.queues.set_queue(QueueState(queue, QueueMode.CLOSED, 1), ADA)
        with pytest.raises(Conflict, match="accepts no jobs"):
            await submit(desk, spec())
        await desk.queues.set_queue(QueueState(queue, QueueMode.OPEN, 1), ADA)
        await until(desk, job, Phase.RUNNING)


async def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        [job] = await desk.jobs.submit(Submission((Entry(spec()),)), ADA, dry_run=True)
        assert await desk.jobs.job(job.id) is None
        assert (await desk.status.stats()).pending == 0


async def test_short_tasks_of_an_array_are_handed_ahead(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=1))
    async with live(tmp_path, backend) as desk:
        jobs = await desk.jobs.submit(Submission((Entry(spec(), tuple(range(50))),)), ADA)
        assert [job.id for job in jobs[:2]] == ["1.0", "1.1"]
        await eventually(lambda: len(backend.started) == 1)
        backend.end_job("1.0")
        await eventually(lambda: any(start.standby for start in backend.seen))
        live_now = [await desk.jobs.job(job.id) for job in jobs]
        phases = [state.live[0].phase for state in live_now if state is not None and state.live]
        assert TaskPhase.STANDBY in phases
        assert phases.count(TaskPhase.STANDBY) < len(phases)


@pytest.mark.covers("time-9")
async def test_what_can_never_start_is_refused_with_what_would_have_to_change(tmp_path: Path) -> None:
    async with live(tmp_path, ObedientBackend(node("n1", cpus=2))) as desk:
        with pytest.raises(BadInput, match="never start here") as refused:
            await submit(desk, spec(), spec(cpus=3))
        assert refused.value.field == "jobs[1]"
        assert "2" in refused.value.help
        assert (await desk.status.stats()).pending == 0


@pytest.mark.covers("ops-2")
async def test_a_backend_that_cannot_be_asked_after_a_reload_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.loop.live.runtime.RETRY_S", 0.01)
    backend = ObedientBackend()
    async with running(tmp_path, backend) as runtime:
        [job] = await submit(runtime.desks, spec())
        await until(runtime.desks, job, Phase.RUNNING)
        asked = 0

        async def unwilling(tasks: object) -> list[TaskRef]:
            nonlocal asked
            asked += 1
            if asked < 3:
                raise BackendUnavailable("in a moment")
            return []

        monkeypatch.setattr(backend, "take_up", unwilling)
        backend.started.clear()
        runtime.transactor.reloaded.set()
        await eventually(lambda: len(backend.seen) == 2)
        assert asked == 3


@pytest.mark.covers("prio-2")
async def test_those_who_stand_by_for_a_room_go_before_it_is_taken_from_who_has_it(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=1), stops_at_once=False)
    async with running(tmp_path, backend) as runtime:
        desk = runtime.desks
        low = spec(priority=Priority.LOW)
        await desk.jobs.submit(Submission((Entry(low, tuple(range(50))),)), ADA)
        await eventually(lambda: len(backend.started) == 1)
        backend.end_job("1.0")
        await eventually(lambda: any(start.standby for start in backend.seen))
        runs = next(ref for ref, start in backend.started.items() if not start.standby)
        await eventually(lambda: bool(runtime.memory.standing_by(runs.job, NodeName("n1"))))
        behind = runtime.memory.standing_by(runs.job, NodeName("n1"))
        [high] = await submit(desk, spec(priority=Priority.MEDIUM))
        await eventually(lambda: runs in backend.stopped)
        order = [ref.job for ref in backend.stopped]
        assert set(behind) <= set(order)
        assert order.index(runs.job) == len(order) - 1
        assert (await desk.jobs.job(high.id)).phase is Phase.SCHEDULED  # type: ignore[union-attr]


async def test_what_was_done_to_a_node_that_is_away_is_seen_and_can_be_undone(tmp_path: Path) -> None:
    async with live(tmp_path, ObedientBackend(node("n1", cpus=2), node("n2", cpus=2))) as desk:
        await desk.nodes.set_node(NodeSettings(NodeName("n2"), draining=True, message="a new disk"), OPERATOR)
    # Started anew, and the machine isn't back yet.
    async with live(tmp_path, ObedientBackend(node("n1", cpus=2))) as desk:
        n1, n2 = await desk.nodes.nodes()
        assert (n1.name, n1.ready, n1.message) == ("n1", True, "")
        assert (n2.name, n2.ready, n2.draining) == ("n2", False, True)
        assert n2.message == "a new disk; it isn't there"
        with pytest.raises(NotFound, match="there is no node n3"):
            await desk.nodes.set_node(NodeSettings(NodeName("n3"), draining=True), OPERATOR)
        await desk.nodes.set_node(NodeSettings(NodeName("n2")), OPERATOR)
        assert [one.name for one in await desk.nodes.nodes()] == ["n1"]
    async with live(tmp_path, ObedientBackend(node("n2", cpus=2))) as desk:
        [job] = await submit(desk, spec(cpus=2))
        await until(desk, job, Phase.RUNNING)
