"""What a task finds when it starts, and what is told of its end."""

from __future__ import annotations

import signal

import pytest

from rota.backends.backend import TaskEnded, TaskStart, TaskStarted
from rota.lifecycle.state import EndReason
from rota.model.ids import NodeName
from rota.model.run import Run
from tests.backends.places import Place, opened
from tests.backends.starts import FOR_EVER, shell
from tests.backends.witness import ref

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-1", "back-2")]


@pytest.mark.parametrize("exit_code", [0, 1, 255])
async def test_a_task_runs_and_ends_with_its_exit_code(place: Place, exit_code: int) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", f"exit {exit_code}")])
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, end.exit_code, end.signal) == (EndReason.EXITED, exit_code, None)
        assert end.succeeded is (exit_code == 0)
        assert here.kinds(ref("1")) == [TaskStarted, TaskEnded]


async def test_times_of_reports_are_in_order(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", "sleep 0.2")])
        end = await here.end_of(ref("1"))
        [start] = [report for report in here.reports if isinstance(report, TaskStarted)]
        assert end.at_ms - start.at_ms >= 200


async def test_a_task_that_a_signal_ends_is_told_apart(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", "kill -SEGV $$")])
        end = (await here.end_of(ref("1"))).end
        assert (end.reason, end.signal) == (EndReason.SIGNALLED, signal.SIGSEGV)


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize("command", [("no-such-program",), ("/no/such/program",), ("/",)])
async def test_what_cannot_be_executed_ends_with_the_reason(place: Place, command: tuple[str, ...]) -> None:
    async with opened(place) as here:
        bad = TaskStart(ref("1"), place.node, Run(command=command))
        await here.backend.start([bad, shell(place, "2", "true")])
        end = (await here.end_of(ref("1"))).end
        assert end.reason is EndReason.NOT_STARTED
        assert command[0] in end.message
        assert here.kinds(ref("1")) == [TaskEnded]
        assert (await here.end_of(ref("2"))).end.succeeded


@pytest.mark.covers("job-2")
async def test_arguments_directory_and_environment(place: Place) -> None:
    async with opened(place) as here:
        run = Run(
            command=("/bin/sh", "-c", 'pwd; echo "$A $B"; echo "<$1>"', "sh", "two words"),
            directory="/tmp",
            environment=(("A", "of the run"), ("B", "of the run")),
        )
        environment = (("B", "of the start"),)
        await here.backend.start([TaskStart(ref("1"), place.node, run, environment=environment)])
        assert (await here.end_of(ref("1"))).end.succeeded
        assert await here.output_text("1") == "/tmp\nof the run of the start\n<two words>\n"


@pytest.mark.covers("job-2")
async def test_a_script_and_its_arguments(place: Place) -> None:
    async with opened(place) as here:
        run = Run(script='for one in "$@"; do echo "<$one>"; done', command=("a b", "c"))
        await here.backend.start([TaskStart(ref("1"), place.node, run)])
        assert (await here.end_of(ref("1"))).end.succeeded
        assert await here.output_text("1") == "<a b>\n<c>\n"


async def test_without_a_directory_each_task_begins_in_an_empty_one(place: Place) -> None:
    async with opened(place) as here:
        for job in ("1", "2"):
            await here.backend.start([shell(place, job, "ls -A; touch left")])
            assert (await here.end_of(ref(job))).end.succeeded
            assert await here.output_text(job) == ""


async def test_each_rank_has_its_own_environment_and_the_hosts_of_all(place: Place) -> None:
    async with opened(place) as here:
        hosts = (place.node, NodeName("elsewhere"))
        await here.backend.start(
            [
                shell(
                    place,
                    "1",
                    'echo "$ROTA_RANK" $(cat "$ROTA_HOSTFILE")',
                    rank=rank,
                    environment=(("ROTA_RANK", str(rank)),),
                    hosts=hosts,
                )
                for rank in (0, 1)
            ]
        )
        for rank in (0, 1):
            assert (await here.end_of(ref("1", rank))).end.succeeded
            text = await here.output_text("1", ranks=(rank,))
            assert text == f"{rank} {place.node} elsewhere\n"


async def test_what_was_started_twice_runs_once(place: Place) -> None:
    async with opened(place) as here:
        task = shell(place, "1", "echo once; sleep 0.3")
        await here.backend.start([task, task])
        await here.started(ref("1"))
        await here.backend.start([task])
        assert (await here.end_of(ref("1"))).end.succeeded
        await here.backend.start([task])
        await here.backend.start([shell(place, "2", "true")])
        await here.end_of(ref("2"))
        assert await here.output_text("1") == "once\n"
        assert here.kinds(ref("1")) == [TaskStarted, TaskEnded]


async def test_running_lists_what_was_not_settled(place: Place) -> None:
    async with opened(place) as here:
        assert await here.running() == []
        await here.backend.start([shell(place, "1", FOR_EVER), shell(place, "2", "true")])
        await here.end_of(ref("2"))
        assert await here.running() == [ref("1"), ref("2")]
        await here.backend.settle([ref("1"), ref("2"), ref("3")])
        assert await here.running() == [ref("1")]


async def test_many_at_once(place: Place) -> None:
    async with opened(place) as here:
        tasks = [shell(place, str(number), f"exit {number % 100}") for number in range(200)]
        await here.backend.start(tasks)
        for number, task in enumerate(tasks):
            assert (await here.end_of(task.ref)).end.exit_code == number % 100
        assert len(await here.running()) == 200
        await here.backend.settle([task.ref for task in tasks])
        assert await here.running() == []
