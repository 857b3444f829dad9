"""What tasks write can be read as it comes and long after, by rank or together; what they leave is kept."""

from __future__ import annotations

import asyncio

import pytest

from rota.backends.backend import Stream
from rota.model.ids import JobId
from rota.model.run import Run
from tests.backends.places import Place, opened
from tests.backends.starts import FOR_EVER, shell
from tests.backends.witness import Witness, ref

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-1", "back-2", "job-4")]


async def three_ranks(place: Place, here: Witness) -> None:
    """Rank 0 writes first and 2 last; all have ended."""
    tasks = [shell(place, "1", f"echo of {rank}; sleep 0.3", rank=rank) for rank in range(3)]
    for rank, task in enumerate(tasks):
        await here.backend.start([task])
        await here.says("1", f"of {rank}")
    for task in tasks:
        assert (await here.end_of(task.ref)).end.succeeded


async def test_tasks_together_in_the_order_of_their_writing(place: Place) -> None:
    async with opened(place) as here:
        await three_ranks(place, here)
        chunks = await here.chunks("1")
        assert [(chunk.rank, chunk.data) for chunk in chunks] == [
            (0, b"of 0\n"),
            (1, b"of 1\n"),
            (2, b"of 2\n"),
        ]
        times = [chunk.at_ms for chunk in chunks]
        assert times == sorted(times)


async def test_output_is_read_by_rank(place: Place) -> None:
    async with opened(place) as here:
        await three_ranks(place, here)
        assert await here.output_text("1", ranks=(1,)) == "of 1\n"
        assert await here.output_text("1", ranks=(2, 0)) == "of 0\nof 2\n"
        assert await here.output_text("1", ranks=(7,)) == ""


async def test_since_a_time(place: Place) -> None:
    async with opened(place) as here:
        await three_ranks(place, here)
        second = (await here.chunks("1"))[1].at_ms
        assert await here.output_text("1", since_ms=second) == "of 1\nof 2\n"
        assert await here.output_text("1", since_ms=second + 3_600_000) == ""


@pytest.mark.parametrize(
    "tail_bytes, text", [(0, ""), (3, " 2\n"), (7, "1\nof 2\n"), (99, "of 0\nof 1\nof 2\n")]
)
async def test_the_last_bytes(place: Place, tail_bytes: int, text: str) -> None:
    async with opened(place) as here:
        await three_ranks(place, here)
        assert await here.output_text("1", tail_bytes=tail_bytes) == text


async def test_both_streams_are_told_apart(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", "echo out; sleep 0.2; echo err >&2")])
        await here.end_of(ref("1"))
        chunks = await here.chunks("1")
        assert [(chunk.stream, chunk.data) for chunk in chunks] == [
            (Stream.OUT, b"out\n"),
            (Stream.ERR, b"err\n"),
        ]


async def test_any_bytes_come_as_they_were_written(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", r"printf 'a\000\377\r\n\033[1mb'")])
        await here.end_of(ref("1"))
        assert b"".join(chunk.data for chunk in await here.chunks("1")) == b"a\0\xff\r\n\x1b[1mb"


async def test_followed_until_the_tasks_have_ended(place: Place) -> None:
    async with opened(place) as here:
        script = "echo one; sleep 0.5; echo two"
        later = shell(place, "1", f"sleep {place.pace}; echo x", rank=1)
        await here.backend.start([shell(place, "1", script), later])
        assert await here.output_text("1", follow=True) == "one\ntwo\nx\n"


async def test_what_is_followed_comes_while_the_task_runs(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", FOR_EVER)])
        following = asyncio.create_task(here.output_text("1", follow=True))
        await here.says("1", "up")
        assert not following.done()
        await here.backend.stop([ref("1")])
        assert await following == "up\n"


async def test_all_of_them_are_there_when_the_end_is_told(place: Place) -> None:
    async with opened(place) as here:
        await here.backend.start([shell(place, "1", "seq 20000")])
        await here.end_of(ref("1"))
        assert await here.output_text("1") == "".join(f"{number}\n" for number in range(1, 20001))


async def test_long_after_the_end(place: Place) -> None:
    async with opened(place) as before:
        await before.backend.start([shell(place, "1", "echo one")])
        await before.end_of(ref("1"))
        await before.backend.settle([ref("1")])
    async with opened(place) as after:
        assert await after.output_text("1") == "one\n"
        assert await after.output_text("1", follow=True) == "one\n"


async def test_each_start_of_a_task_has_its_own(place: Place) -> None:
    async with opened(place) as here:
        for fence in (1, 2):
            await here.backend.start([shell(place, "1", f"echo try {fence}", fence=fence)])
            await here.end_of(ref("1", fence=fence))
            await here.backend.settle([ref("1", fence=fence)])
        chunks = await here.chunks("1")
        assert [(chunk.fence, chunk.data) for chunk in chunks] == [(1, b"try 1\n"), (2, b"try 2\n")]


async def test_of_what_nobody_knows_there_are_none(place: Place) -> None:
    async with opened(place) as here:
        assert await here.chunks("1") == []
        assert await here.chunks("1", follow=True, tail_bytes=10) == []


async def test_outputs_are_kept_and_nothing_else_is(place: Place) -> None:
    script = "mkdir d; echo kept > d/a; echo lost > b; exit 3"
    run = Run(outputs=("d/a", "missing"))
    async with opened(place) as before:
        await before.backend.start([shell(place, "1", script, rank=2, run=run)])
        end = (await before.end_of(ref("1", rank=2))).end
        assert (end.exit_code, end.message) == (3, "not kept: 'missing', which isn't there")
        await before.backend.settle([ref("1", rank=2)])
    async with opened(place) as after:
        assert await after.left("1", "d/a", rank=2) == b"kept\n"
        for job, path, rank in [
            ("1", "d/a", 0),
            ("2", "d/a", 2),
            ("1", "b", 2),
            ("1", "missing", 2),
            ("1", "d", 2),
            ("1", "../2/d/a", 2),
            ("1", "/etc/passwd", 2),
            ("1", "", 2),
        ]:
            with pytest.raises(FileNotFoundError):
                await after.left(job, path, rank)


@pytest.mark.covers("job-5")
async def test_what_is_forgotten_is_gone(place: Place) -> None:
    async with opened(place) as here:
        run = Run(outputs=("a",))
        for job in ("1", "2"):
            await here.backend.start([shell(place, job, "echo of it; echo x > a", run=run)])
            await here.end_of(ref(job))
            await here.backend.settle([ref(job)])
        await here.backend.forget([JobId("1"), JobId("3")])
        await here.backend.forget([JobId("1")])
        assert await here.chunks("1") == []
        with pytest.raises(FileNotFoundError):
            await here.left("1", "a")
        assert await here.output_text("2") == "of it\n"
        assert await here.left("2", "a") == b"x\n"


async def test_beyond_its_limit_output_is_dropped_and_the_task_goes_on(place: Place) -> None:
    """It writes far more than its pipe holds."""
    async with opened(place) as here:
        script = "head -c 3000000 /dev/zero | tr '\\0' a; echo b >&2; exit 3"
        task = shell(place, "1", script, log_bytes=100_000)
        await here.backend.start([task])
        assert (await here.end_of(task.ref)).end.exit_code == 3
        said = "rota: output limit of 100 kB reached; the rest was dropped\n"
        assert await here.output_text("1") == "a" * 100_000 + "\n" + said
