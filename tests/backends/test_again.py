"""A backend that is closed and opened again: what runs is found, and what wasn't settled is told again."""

from __future__ import annotations

import asyncio

import pytest

from rota.backends.backend import TaskEnded, TaskReturned, TaskStarted
from rota.lifecycle.state import EndReason
from tests.backends.places import Place, opened
from tests.backends.starts import FOR_EVER, shell
from tests.backends.witness import ref

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-1", "back-2", "job-3")]


async def test_what_runs_goes_on_and_is_found(place: Place) -> None:
    async with opened(place) as before:
        await before.backend.start([shell(place, "1", FOR_EVER)])
        await before.says("1", "up")
    async with opened(place, ref("1")) as after:
        assert await after.running() == [ref("1")]
        await after.backend.start([shell(place, "1", FOR_EVER)])
        await after.started(ref("1"))
        await after.backend.stop([ref("1")])
        assert (await after.end_of(ref("1"))).end.reason is EndReason.STOPPED
        assert await after.output_text("1") == "up\n"
        assert after.kinds(ref("1")) == [TaskStarted, TaskEnded]


async def test_an_end_that_nobody_saw_is_told(place: Place) -> None:
    async with opened(place) as before:
        await before.backend.start([shell(place, "1", "echo up; sleep 0.5; echo down; exit 7")])
        await before.says("1", "up")
    await asyncio.sleep(0.7)
    async with opened(place, ref("1")) as after:
        assert (await after.end_of(ref("1"))).end.exit_code == 7
        assert await after.output_text("1") == "up\ndown\n"


async def test_reports_come_again_until_they_are_settled_and_not_after(place: Place) -> None:
    async with opened(place) as first:
        tasks = [shell(place, job, f"exit {job}") for job in ("1", "2")]
        await first.backend.start([*tasks, shell(place, "3", "true", lane="l", standby=True)])
        await first.end_of(ref("1"))
        end = await first.end_of(ref("2"))
        await first.returned(ref("3"))
        await first.backend.settle([ref("1")])
    async with opened(place, ref("2"), ref("3")) as second:
        assert await second.end_of(ref("2")) == end
        await second.returned(ref("3"))
        assert await second.running() == [ref("2"), ref("3")]
        assert second.kinds(ref("1")) == []
        assert second.kinds(ref("2")) == [TaskStarted, TaskEnded]
        assert second.kinds(ref("3")) == [TaskReturned]
        await second.backend.settle([ref("2"), ref("3")])
    async with opened(place) as third:
        assert await third.running() == []
        await third.backend.start([shell(place, "4", "true")])
        await third.end_of(ref("4"))
        assert {report.ref for report in third.reports} == {ref("4")}


async def test_one_on_standby_starts_while_nobody_is_connected(place: Place) -> None:
    async with opened(place) as before:
        first = shell(place, "1", "echo up; sleep 0.5", lane="l")
        await before.backend.start([first, shell(place, "2", "echo next", lane="l", standby=True)])
        await before.says("1", "up")
    async with opened(place, ref("1"), ref("2")) as after:
        assert (await after.end_of(ref("2"))).end.succeeded
        assert await after.output_text("2") == "next\n"
