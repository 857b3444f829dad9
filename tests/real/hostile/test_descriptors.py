"""A job gets its three streams, and nothing else that Rota or whoever started it has open."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rota.backends.backend import TaskStart
from rota.model.run import Run
from tests.backends.witness import ref
from tests.real.process.host import NODE, host

pytestmark = pytest.mark.slow

LIST = "for each in /proc/$$/fd/*; do readlink $each; done"


@pytest.mark.covers("trust-2")
@pytest.mark.parametrize("directory", ["", "/"], ids=["spawned", "forked"])
def test_a_job_inherits_nothing(tmp_path: Path, directory: str) -> None:
    """Whatever starts the keeper: its lock, and its log, as files that are handed on."""
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    folder = tmp_path / "backend"
    keeper = [sys.executable, "-m", "rota.backends.process.keeper", str(folder), "{}"]
    subprocess.run(keeper, check=True, pass_fds=[lock], stdin=subprocess.DEVNULL, timeout=60)

    async def check() -> None:
        async with host(folder) as here:
            run = Run(command=("sh", "-c", LIST), directory=directory)
            await here.backend.start([TaskStart(ref("1"), NODE, run)])
            await here.end_of(ref("1"))
            opened = (await here.output_text("1")).split()
            assert opened[0] == "/dev/null"
            assert [each.partition(":")[0] for each in opened[1:]] == ["pipe", "pipe"]

    try:
        asyncio.run(check())
    finally:
        os.close(lock)
