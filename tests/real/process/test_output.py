"""Logs of real tasks: all of them, in order, whatever they hold and however much it is."""

import asyncio
import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rota.backends.backend import LogQuery, Stream, TaskStart
from rota.backends.process.keeper.streams.log_writer import Rotation
from rota.model.ids import JobId
from rota.model.run import Run
from tests.backends.witness import ref
from tests.real.conftest import mount_disk
from tests.real.process.host import NODE, host, shell

pytestmark = pytest.mark.slow

MIB = 1 << 20


@pytest.mark.covers("job-4")
async def test_a_hundred_megabytes_of_anything(tmp_path: Path) -> None:
    """Binary, without a single line end that means anything, and read in pieces."""
    script = (
        "import hashlib, os, sys\n"
        "block = os.urandom(1 << 20)\n"
        "seen = hashlib.sha256()\n"
        "for _ in range(100):\n"
        "    seen.update(block); sys.stdout.buffer.write(block)\n"
        "sys.stdout.flush(); sys.stderr.write(seen.hexdigest())\n"
    )

    async with host(tmp_path / "backend") as here:
        await here.backend.start([TaskStart(ref("1"), NODE, Run(command=("python3", "-c", script)))])
        seen, told = hashlib.sha256(), b""
        async for batch in here.backend.logs(LogQuery(JobId("1"), follow=True)):
            assert sum(len(chunk.data) for chunk in batch) < 2 * MIB
            for chunk in batch:
                if chunk.stream is Stream.OUT:
                    seen.update(chunk.data)
                else:
                    told += chunk.data
        assert seen.hexdigest() == told.decode()


@pytest.mark.covers("job-4")
async def test_old_output_makes_room_for_new(tmp_path: Path) -> None:
    async with host(tmp_path / "backend", rotation=Rotation(segment_bytes=MIB, segments=2)) as here:
        await here.backend.start([shell("1", "head -c 10000000 /dev/zero; echo the end")])
        await here.end_of(ref("1"))
        chunks = await here.chunks("1")
        kept = b"".join(chunk.data for chunk in chunks)
        assert kept.endswith(b"the end\n")
        assert chunks[0].dropped_bytes + len(kept) == 10_000_000 + len("the end\n")
        assert MIB <= len(kept) < 3 * MIB


@pytest.mark.covers("job-4")
async def test_ranks_together_and_alone(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        tasks = [
            TaskStart(ref("1", rank), NODE, Run(command=("sh", "-c", f"sleep 0.{2 * rank}; echo {rank}")))
            for rank in range(3)
        ]
        await here.backend.start(tasks)
        together = b"".join(chunk.data for chunk in await here.chunks("1", follow=True))
        assert together == b"0\n1\n2\n"
        alone = await here.chunks("1", ranks=(1,))
        assert [(chunk.rank, chunk.data) for chunk in alone] == [(1, b"1\n")]


async def test_what_is_forgotten_is_gone(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await here.backend.start([shell("1", "echo x"), shell("2", "echo y")])
        await here.end_of(ref("1"))
        await here.end_of(ref("2"))
        await here.backend.forget([JobId("1")])
        assert await here.chunks("1") == []
        assert await here.output_text("2") == "y\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Of 8 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount_disk(folder, "size=8m")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.covers("job-4")
async def test_a_full_disk_holds_tasks_up_and_loses_nothing(small_disk: Path) -> None:
    async with host(small_disk / "backend") as here:
        filler = small_disk / "filler"
        filler.write_bytes(bytes(5 * MIB))
        await here.backend.start([shell("1", "head -c 5000000 /dev/zero; echo the end")])
        async with asyncio.timeout(30):
            while "No space left on device" not in (await here.backend.health()).message:
                await asyncio.sleep(0.05)
        assert (await here.backend.health()).healthy, "others aren't held up"
        filler.unlink()
        assert (await here.end_of(ref("1"))).end.succeeded
        data = b"".join([chunk.data for chunk in await here.chunks("1")])
        assert data == bytes(5_000_000) + b"the end\n"
        assert "No space left" not in (await here.backend.health()).message


@pytest.mark.covers("job-4")
async def test_nothing_starts_that_could_not_be_remembered(small_disk: Path) -> None:
    async with host(small_disk / "backend") as here:
        await here.backend.start([shell("0", "true")])
        await here.end_of(ref("0"))
        filler = small_disk / "filler"
        fill(filler)
        wordy = Run(command=("true", "x" * 100_000))
        starting = asyncio.create_task(here.backend.start([TaskStart(ref("1"), NODE, wordy)]))
        async with asyncio.timeout(30):
            while (await here.backend.health()).healthy:
                await asyncio.sleep(0.05)
        assert not starting.done()
        filler.unlink()
        await starting
        assert (await here.end_of(ref("1"))).end.succeeded


def fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
