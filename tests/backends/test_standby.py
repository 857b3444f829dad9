"""Tasks on standby start where one of their lane has ended, and nowhere else."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rota.backends.backend import TaskEnded, TaskReturned, TaskStarted
from tests.backends.places import Place, opened
from tests.backends.starts import FOR_EVER, shell
from tests.backends.witness import ref

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-1", "back-2")]


async def test_they_start_one_after_another(place: Place) -> None:
    async with opened(place) as here:
        tasks = [shell(place, str(n), "sleep 0.1", lane="l", standby=n > 1) for n in range(1, 6)]
        await here.backend.start(tasks)
        for task in tasks:
            assert (await here.end_of(task.ref)).end.succeeded
        started = [report.ref.job for report in here.reports if isinstance(report, TaskStarted)]
        assert started == ["1", "2", "3", "4", "5"]
        ends_ms = {report.ref: report.at_ms for report in here.reports if isinstance(report, TaskEnded)}
        starts_ms = {report.ref: report.at_ms for report in here.reports if isinstance(report, TaskStarted)}
        for earlier, later in pairwise(tasks):
            # Its room is free a moment before its end is told.
            assert starts_ms[later.ref] >= starts_ms[earlier.ref] + 100
            assert ends_ms[later.ref] > ends_ms[earlier.ref]


async def test_another_lane_is_none_of_their_business(place: Place) -> None:
    async with opened(place) as here:
        tasks = [
            shell(place, "1", FOR_EVER, lane="a"),
            shell(place, "2", "true", lane="b"),
            shell(place, "3", "echo ran", lane="a", standby=True),
        ]
        await here.backend.start(tasks)
        await here.end_of(ref("2"))
        await here.says("1", "up")
        assert here.kinds(ref("3")) == []
        await here.backend.stop([ref("1")])
        assert (await here.end_of(ref("3"))).end.succeeded


async def test_one_that_has_nobody_to_wait_for_is_given_back(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", "true", lane="l", standby=True)])
        await here.returned(ref("1"))
        assert here.kinds(ref("1")) == [TaskReturned]
        assert await here.running() == [ref("1")]
        await here.backend.settle([ref("1")])
        assert await here.running() == []


async def test_an_end_that_is_not_settled_leaves_its_room_to_the_next(place: Place) -> None:
    """Whoever sent it hadn't heard of that end; once it is settled, its room may be somebody else's."""

    async with opened(place) as here:
        for job in ("1", "2"):
            await here.backend.start([shell(place, job, "true", lane=job)])
            await here.end_of(ref(job))
        await here.backend.settle([ref("2")])
        await here.backend.start([shell(place, "3", "true", lane="1", standby=True)])
        await here.backend.start([shell(place, "4", "true", lane="2", standby=True)])
        assert (await here.end_of(ref("3"))).end.succeeded
        await here.returned(ref("4"))
