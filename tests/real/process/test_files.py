"""Input files are there when a task starts, all of them, or it doesn't; what it leaves is kept."""

import asyncio
import hashlib
import io
import os
import signal
import tarfile
from pathlib import Path

import pytest

from rota.backends.backend import TaskEnded, TaskStart, TaskStarted
from rota.lifecycle.state import EndReason
from rota.model.ids import JobId
from rota.model.run import InputFile, Run
from tests.backends.witness import ref
from tests.kit.uploads import upload
from tests.real.process.host import NODE, host

pytestmark = pytest.mark.slow


@pytest.mark.covers("job-2")
@pytest.mark.parametrize("in_a_directory", [False, True])
async def test_files_are_in_place_before_the_start(tmp_path: Path, in_a_directory: bool) -> None:
    directory = tmp_path / "shared"
    directory.mkdir()
    (directory / "there.txt").write_text("before")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("in/deep.txt")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"deep"))

    async with host(tmp_path / "backend") as here:
        files = (
            await upload(
                here, b"#!/bin/sh\ncat data/in.txt tree/in/deep.txt there.txt", "go", executable=True
            ),
            await upload(here, b"data ", "data/in.txt"),
            await upload(here, b"there", "there.txt"),
            await upload(here, packed.getvalue(), "tree", unpack=True),
        )
        run = Run(command=("./go",), files=files, directory=str(directory) if in_a_directory else "")
        await here.backend.start([TaskStart(ref("1"), NODE, run)])
        assert (await here.end_of(ref("1"))).end.succeeded
        assert await here.output_text("1") == "data deepthere"
    left = {path.name for path in directory.iterdir()}
    assert left == ({"there.txt", "go", "data", "tree"} if in_a_directory else {"there.txt"})


@pytest.mark.covers("job-2", "ops-3")
@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "link/out", "a\0b", ""])
async def test_files_that_leave_the_folder_fail_the_task(tmp_path: Path, path: str) -> None:
    directory = tmp_path / "shared"
    directory.mkdir()
    (directory / "link").symlink_to(tmp_path)

    async with host(tmp_path / "backend") as here:
        good = await upload(here, b"good", "good")
        bad = await upload(here, b"bad", path)
        run = Run(command=("true",), files=(good, bad), directory=str(directory))
        await here.backend.start([TaskStart(ref("1"), NODE, run)])
        end = (await here.end_of(ref("1"))).end
        assert end.reason is EndReason.STAGING
        assert repr(path) in end.message
        assert not any(isinstance(report, TaskStarted) for report in here.reports)
    assert not (tmp_path / "out").exists()


@pytest.mark.covers("job-2")
async def test_damaged_content_is_noticed(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        file = await upload(here, b"content", "a")
        (tmp_path / "backend" / "files" / file.sha256).write_bytes(b"c0ntent")
        missing = InputFile("b", hashlib.sha256(b"?").hexdigest(), 1)
        for job, each in (("1", file), ("2", missing)):
            await here.backend.start([TaskStart(ref(job), NODE, Run(command=("true",), files=(each,)))])
            end = (await here.end_of(ref(job))).end
            assert end.reason is EndReason.STAGING
            assert end.message.startswith(f"{each.path}: ")
            assert end.message.endswith("upload it again")


@pytest.mark.covers("job-2")
async def test_a_crash_in_the_middle_of_staging_leaves_no_half(tmp_path: Path) -> None:
    """The keeper and its stager are killed between the copy and the rename."""

    folder = tmp_path / "backend"
    async with host(folder) as here:
        file = await upload(here, bytes(1 << 20), "big")
        os.rename(folder / "files" / file.sha256, tmp_path / "content")
        os.mkfifo(folder / "files" / file.sha256)
        await here.backend.start([TaskStart(ref("1"), NODE, Run(command=("ls",), files=(file,)))])
        async with asyncio.timeout(30):
            while not list(folder.glob("rooms/*/staging")):
                await asyncio.sleep(0.02)
        (room,) = {path.parent for path in folder.glob("rooms/*/staging")}
        os.kill(here.keeper(), signal.SIGKILL)
        os.replace(tmp_path / "content", folder / "files" / file.sha256)
        assert (await here.end_of(ref("1"))).end.succeeded
        assert await here.output_text("1") == "big\n"
        async with asyncio.timeout(30):
            while room.exists():
                await asyncio.sleep(0.02)


async def test_a_task_can_be_stopped_while_its_files_are_staged(tmp_path: Path) -> None:
    folder = tmp_path / "backend"
    async with host(folder) as here:
        file = await upload(here, b"x", "x")
        (folder / "files" / file.sha256).unlink()
        os.mkfifo(folder / "files" / file.sha256)
        await here.backend.start([TaskStart(ref("1"), NODE, Run(command=("true",), files=(file,)))])
        await here.backend.stop([ref("1")])
        assert (await here.end_of(ref("1"))).end.reason is EndReason.STOPPED


async def test_outputs_are_kept_and_nothing_else_is(tmp_path: Path) -> None:
    script = "mkdir d; echo kept > d/a; echo lost > b; ln -s /etc/passwd link; truncate -s 65M large"

    async with host(tmp_path / "backend") as here:
        outputs = ("d/a", "link", "large", "missing", "../../../journal")
        run = Run(command=("sh", "-c", script), outputs=outputs)
        await here.backend.start([TaskStart(ref("1", rank=2), NODE, run)])
        report = await here.end_of(ref("1", rank=2))
        assert isinstance(report, TaskEnded)
        assert report.end.succeeded
        for name in ("'link' is not a file", "'large' is larger than 64 MiB", "leaves the task's folder"):
            assert name in report.end.message
        pieces = [piece async for piece in here.backend.output(JobId("1"), 2, "d/a")]
        assert b"".join(pieces) == b"kept\n"
        for name in ("link", "large", "missing", "b"):
            with pytest.raises(FileNotFoundError):
                await anext(here.backend.output(JobId("1"), 2, name))
        await here.backend.forget([JobId("1")])
        with pytest.raises(FileNotFoundError):
            await anext(here.backend.output(JobId("1"), 2, "d/a"))
