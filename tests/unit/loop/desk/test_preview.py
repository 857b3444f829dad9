"""A preview heeds all that production does, and production then does what the preview said."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.api.questions import PlannedJob
from rota.control.errors import BadInput, Conflict
from rota.intake.submissions import Entry, Sibling, Submission
from rota.lifecycle.state import Phase
from rota.loop.desk.desks import LiveDesks
from rota.model.calendar import Maintenance, QueueMode, QueueState
from rota.model.ids import JobId, QueueName
from rota.model.run import After, Dependency
from tests.kit.live import ADA, FAILURE, OPERATOR, START_MS, live, now_ms, spec, submit, until
from tests.obedient import ObedientBackend, node

pytestmark = [pytest.mark.covers("first-4"), pytest.mark.virtual_time]
HOUR_MS = 3_600_000


async def planned(desk: LiveDesks, *entries: Entry) -> list[PlannedJob]:
    answer = await desk.questions.plan(Submission(entries), ADA)
    return answer.jobs


def starts_now(job: PlannedJob) -> bool:
    return job.starts is not None and job.starts.timestamp() * 1000 <= now_ms()


async def test_what_is_held_or_waits_for_others_does_not_start(tmp_path: Path) -> None:
    entries = (
        Entry(spec(name="a")),
        Entry(spec(name="b"), siblings=(Sibling(0),)),
        Entry(spec(name="c", held=True)),
        Entry(spec(name="d", held=True), siblings=(Sibling(1, After.ANY),)),
    )
    async with live(tmp_path, ObedientBackend(node("n1", cpus=8))) as desk:
        a, b, c, d = await planned(desk, *entries)
        assert starts_now(a)
        assert [one.starts for one in (b, c, d)] == [None, None, None]
        assert [one.reasons for one in (b, c, d)] == [
            ["waits for a to end"],
            ["is held"],
            ["is held", "waits for b to end"],
        ]
        assert [one.verdict for one in (a, b, c)] == [None, "not-now", "not-now"]
        # Production does the same with them.
        states = await desk.jobs.submit(Submission(entries), ADA)
        await until(desk, states[0], Phase.RUNNING)
        assert [(await until(desk, one, Phase.CREATED)).phase for one in states[1:]]


async def test_elements_of_an_array_have_its_name_and_their_index(tmp_path: Path) -> None:
    async with live(tmp_path, ObedientBackend(node("n1", cpus=2))) as desk:
        sweep = Entry(spec(name="sweep"), array=(3, 4, 5))
        found = await planned(desk, sweep, Entry(spec(name="sum"), siblings=(Sibling(0),)))
        assert [(one.name, one.array_index) for one in found] == [
            ("sweep", 3),
            ("sweep", 4),
            ("sweep", 5),
            ("sum", None),
        ]
        assert [starts_now(one) for one in found] == [True, True, False, False]
        assert found[3].reasons == ["waits for sweep.[3-5] to end"]


async def test_a_dependency_that_has_ended_counts_as_it_ended(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=4))
    async with live(tmp_path, backend) as desk:
        good, bad = await submit(desk, spec(), spec())
        await until(desk, good, Phase.RUNNING)
        await until(desk, bad, Phase.RUNNING)
        backend.end_job(good.id)
        backend.end_job(bad.id, FAILURE)
        await until(desk, good, Phase.SUCCEEDED)
        await until(desk, bad, Phase.FAILED)
        one, other = await planned(
            desk,
            Entry(spec(depends_on=(Dependency(good.id),))),
            Entry(spec(depends_on=(Dependency(bad.id),))),
        )
        assert starts_now(one)
        assert (other.starts, other.verdict) == (None, "never")
        assert other.reasons == [f"it would be cancelled at once: job {bad.id} didn't succeed"]


async def test_what_a_submission_is_refused_for_is_refused_here(tmp_path: Path) -> None:
    async with live(tmp_path, ObedientBackend()) as desk:
        with pytest.raises(BadInput, match="no job 77"):
            await planned(desk, Entry(spec(depends_on=(Dependency(JobId("77")),))))
        await desk.queues.set_queue(
            QueueState(QueueName("default"), QueueMode.CLOSED, message="until Monday"), OPERATOR
        )
        with pytest.raises(Conflict, match="accepts no jobs: until Monday"):
            await planned(desk, Entry(spec()))


async def test_paused_queues_and_maintenance_and_the_earliest_start(tmp_path: Path) -> None:
    async with live(tmp_path, ObedientBackend()) as desk:
        late = spec(start_after_ms=START_MS + HOUR_MS, time_limit_ms=60_000)
        [later] = await planned(desk, Entry(late))
        assert later.starts is None
        assert later.reasons == ["not to start before 2023-11-14T23:13:20Z"]
        window = Maintenance("upgrade", START_MS + 60_000, START_MS + HOUR_MS)
        await desk.calendar.set_maintenance(window, OPERATOR)
        [short, long] = await planned(
            desk, Entry(spec(time_limit_ms=30_000)), Entry(spec(time_limit_ms=HOUR_MS))
        )
        assert starts_now(short)
        assert long.starts is not None
        assert long.starts.timestamp() * 1000 == START_MS + HOUR_MS
        await desk.queues.set_queue(
            QueueState(QueueName("default"), QueueMode.PAUSED, message="disks"), OPERATOR
        )
        [paused] = await planned(desk, Entry(spec(time_limit_ms=30_000)))
        assert paused.starts is None
        assert any("paused: disks" in reason for reason in paused.reasons)


async def test_a_preview_changes_nothing(tmp_path: Path) -> None:
    async with live(tmp_path, ObedientBackend()) as desk:
        await planned(desk, Entry(spec(), array=tuple(range(10))))
        stats = await desk.status.stats()
        assert (stats.pending, stats.running) == (0, 0)
        [first] = await submit(desk, spec())
        assert first.number == 1
