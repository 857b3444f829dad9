"""What a task left is found by its path, and by no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.backends.backend import TaskRef
from rota.backends.process.client.task_files import TaskFiles
from rota.backends.process.folders import Folders
from rota.model.ids import JobId

REF = TaskRef(JobId("1"), 0, 1)


async def read(files: TaskFiles, path: str) -> bytes:
    return b"".join([piece async for piece in files.output(REF.job, REF.rank, path)])


@pytest.mark.covers("trust-1")
@pytest.mark.parametrize(
    "path", ["a" * 300, "a/" * 3000 + "b", "a/" + "é" * 200, "a", "a/b/c", "../a/b", "/a/b", "", "a/\0"]
)
async def test_a_path_that_cannot_be_is_of_no_file(tmp_path: Path, path: str) -> None:
    folders = Folders(tmp_path)
    folders.make()
    kept = folders.outputs_of_task(REF) / "a" / "b"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"left")
    files = TaskFiles(folders)
    assert await read(files, "a/b") == b"left"
    with pytest.raises(FileNotFoundError):
        await read(files, path)
