"""Whatever is told to stop ends with a report: what runs, what waits, and what nobody knows."""

from __future__ import annotations

import signal

import pytest

from rota.backends.backend import TaskEnded, TaskReturned
from rota.lifecycle.state import EndReason
from rota.model.run import Run
from tests.backends.places import Place, opened
from tests.backends.starts import A_WHILE, FOR_EVER, STUBBORN, shell
from tests.backends.witness import ref

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-1", "back-2")]


async def test_who_heeds_the_signal_may_clean_up(place: Place) -> None:
    async with opened(place) as here:
        polite = "trap 'echo cleaned; exit 3' TERM; " + FOR_EVER
        await here.backend.start([shell(place, "1", polite)])
        await here.says("1", "up")
        await here.backend.stop([ref("1")])
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, end.exit_code) == (EndReason.STOPPED, 3)
        assert (await here.output_text("1")).endswith("cleaned\n")


async def test_who_ignores_it_is_killed_after_the_grace(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", STUBBORN, run=Run(grace_ms=200))])
        await here.says("1", "up")
        await here.backend.stop([ref("1")])
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, end.signal) == (EndReason.STOPPED, signal.SIGKILL)


async def test_one_that_was_just_told_to_start(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", FOR_EVER)])
        await here.backend.stop([ref("1")])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.STOPPED


async def test_only_those_that_were_named_stop(place: Place) -> None:
    async with opened(place) as here:
        tasks = [shell(place, "1", FOR_EVER), shell(place, "1", A_WHILE, rank=1)]
        await here.backend.start([*tasks, shell(place, "2", A_WHILE)])
        await here.says("1", "up")
        await here.backend.stop([ref("1")])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.STOPPED
        for other in (ref("1", 1), ref("2")):
            assert (await here.end_of(other)).end.exit_code == 4


async def test_to_stop_twice_is_to_stop_once(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", FOR_EVER)])
        await here.says("1", "up")
        await here.backend.stop([ref("1")])
        await here.backend.stop([ref("1")])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.STOPPED
        await here.backend.stop([ref("1")])
        assert await here.running() == [ref("1")]
        await here.backend.settle([ref("1")])
        assert await here.running() == []
        assert here.kinds(ref("1")).count(TaskEnded) == 1


async def test_an_end_before_the_stop_is_the_end(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", "exit 5")])
        await here.end_of(ref("1"))
        await here.backend.stop([ref("1")])
        await here.running()
    async with opened(place, ref("1")) as again:
        assert (await again.end_of(ref("1"))).end.exit_code == 5


async def test_what_nobody_knows_is_lost(place: Place) -> None:
    """Whoever asks waits for its end. A start that comes too late starts nothing."""

    async with opened(place) as here:
        await here.backend.stop([ref("1")])
        end = (await here.end_of(ref("1"))).end
        assert end.reason is EndReason.LOST
        assert end.message
        await here.backend.start([shell(place, "1", "echo ran"), shell(place, "2", "true")])
        await here.end_of(ref("2"))
        assert here.kinds(ref("1")) == [TaskEnded]
        assert await here.output_text("1") == ""
        await here.backend.settle([ref("1"), ref("2")])
        assert await here.running() == []


async def test_another_fence_is_another_task(place: Place) -> None:
    """Calls that come late are none of the task's business that runs now."""

    async with opened(place) as here:
        await here.backend.start([shell(place, "1", "exit 3", fence=1)])
        await here.end_of(ref("1", fence=1))
        await here.backend.start([shell(place, "1", A_WHILE, fence=2)])
        await here.says("1", "up")
        await here.backend.stop([ref("1", fence=1)])
        await here.backend.change_limit(ref("1", fence=1), 1)
        await here.backend.settle([ref("1", fence=1)])
        assert await here.running() == [ref("1", fence=2)]
        end = (await here.end_of(ref("1", fence=2))).end
        assert (end.reason, end.exit_code) == (EndReason.EXITED, 4)
        assert (await here.end_of(ref("1", fence=1))).end.exit_code == 3


async def test_a_task_on_standby_is_given_back(place: Place) -> None:
    async with opened(place) as here:
        first = shell(place, "1", FOR_EVER, lane="l")
        await here.backend.start([first, shell(place, "2", "echo ran", lane="l", standby=True)])
        await here.says("1", "up")
        await here.backend.stop([ref("2")])
        await here.returned(ref("2"))
        await here.backend.stop([ref("1")])
        await here.end_of(ref("1"))
        assert here.kinds(ref("2")) == [TaskReturned]
        assert await here.output_text("2") == ""
