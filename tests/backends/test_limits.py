"""Time limits are held by the backend itself, whoever is there to see it."""

from __future__ import annotations

import time

import pytest

from rota.backends.backend import TaskStarted
from rota.lifecycle.state import EndReason
from rota.model.run import Run
from tests.backends.places import Place, opened
from tests.backends.starts import FOR_EVER, STUBBORN, shell
from tests.backends.witness import ref

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-1", "back-2")]

HOUR_MS = 3_600_000


@pytest.mark.covers("time-7")
async def test_who_reaches_the_limit_is_ended(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", FOR_EVER, time_limit_ms=500)])
        report = await here.end_of(ref("1"))
        assert report.end.reason is EndReason.TIME_LIMIT
        [started] = [one for one in here.reports if isinstance(one, TaskStarted)]
        assert report.at_ms - started.at_ms >= 500


async def test_the_limit_has_a_grace_too(place: Place) -> None:
    async with opened(place) as here:
        run = Run(grace_ms=200)
        await here.backend.start([shell(place, "1", STUBBORN, run=run, time_limit_ms=300)])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT


async def test_a_warning_comes_before_the_limit(place: Place) -> None:
    async with opened(place) as here:
        script = "trap 'echo warned' USR1; trap 'echo ended; exit 1' TERM; " + FOR_EVER
        run = Run(warn_signal="SIGUSR1", warn_before_ms=700)
        await here.backend.start([shell(place, "1", script, run=run, time_limit_ms=1500)])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT
        lines = (await here.output_text("1")).splitlines()
        assert lines.index("up") < lines.index("warned") < lines.index("ended")


async def test_it_can_be_made_shorter_and_longer_while_the_task_runs(place: Place) -> None:
    async with opened(place) as here:
        shorter = shell(place, "1", FOR_EVER, time_limit_ms=HOUR_MS)
        script = f"echo up; sleep {3 * place.pace}; exit 4"
        longer = shell(place, "2", script, time_limit_ms=2000 * place.pace)
        await here.backend.start([shorter, longer])
        await here.started(ref("1"))
        await here.backend.change_limit(ref("1"), 100)
        await here.backend.change_limit(ref("2"), HOUR_MS)
        assert (await here.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT
        end = (await here.end_of(ref("2"))).end
        assert (end.reason, end.exit_code) == (EndReason.EXITED, 4)


async def test_a_limit_of_what_nobody_knows_changes_nothing(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.change_limit(ref("1"), 100)
        assert await here.running() == []


async def test_the_latest_end_comes_before_a_longer_limit(place: Place) -> None:
    async with opened(place) as here:
        soon_ms = time.time_ns() // 1_000_000 + 500
        tasks = [
            shell(place, "1", FOR_EVER, time_limit_ms=HOUR_MS, end_before_ms=soon_ms),
            shell(place, "2", FOR_EVER, end_before_ms=1),
        ]
        await here.backend.start(tasks)
        report = await here.end_of(ref("1"))
        assert report.end.reason is EndReason.TIME_LIMIT
        assert (await here.end_of(ref("2"))).end.reason is EndReason.TIME_LIMIT


@pytest.mark.covers("time-7")
async def test_it_holds_while_nobody_is_connected(place: Place) -> None:
    async with opened(place) as before:
        await before.backend.start([shell(place, "1", FOR_EVER, time_limit_ms=HOUR_MS)])
        await before.started(ref("1"))
        await before.backend.change_limit(ref("1"), 800)
    async with opened(place, ref("1")) as after:
        assert (await after.end_of(ref("1"))).end.reason is EndReason.TIME_LIMIT
