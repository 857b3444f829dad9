"""A process backend with a keeper of its own, and what tests ask of it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from rota.backends.backend import TaskStart
from rota.backends.process.client.backend import ProcessBackend
from rota.backends.process.frames import Hello, Inbox, read_answer
from rota.backends.process.keeper.streams.log_writer import DEFAULT_ROTATION, Rotation
from rota.backends.process.options import KeeperOptions
from rota.model.ids import NodeName
from rota.model.run import Run
from tests.backends.witness import PATIENCE_S, Witness, collecting, ref

NODE = NodeName("here")


def shell(job: str, script: str, *, lane: str = "", standby: bool = False) -> TaskStart:
    return TaskStart(ref(job), NODE, Run(command=("/bin/sh", "-c", script)), lane=lane, standby=standby)


class Host(Witness):
    backend: ProcessBackend

    def __init__(self, backend: ProcessBackend, folder: Path) -> None:
        super().__init__(backend)
        self.folder = folder

    def keeper(self) -> int:
        return keeper_of(self.folder)


@asynccontextmanager
async def host(
    folder: Path,
    *,
    rotation: Rotation = DEFAULT_ROTATION,
    end_keeper: bool = True,
    start_within_ms: int = 60_000,
) -> AsyncIterator[Host]:
    options = KeeperOptions(rotation, idle_ms=2_000, start_within_ms=start_within_ms)
    opened = Host(ProcessBackend(folder, NODE, keeper=options), folder)
    try:
        async with collecting(opened):
            yield opened
    finally:
        if end_keeper:
            await end(folder)


async def end(folder: Path) -> None:
    """The keeper of this folder and all its tasks."""
    try:
        pid = keeper_of(folder)
    except OSError:
        return
    os.kill(pid, signal.SIGTERM)
    await gone([pid])


async def gone(pids: Iterable[int]) -> None:
    """Waits until none of these processes is left."""
    async with asyncio.timeout(PATIENCE_S):
        while any(map(is_alive, pids)):
            await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Zombies aren't."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def appears(path: Path) -> str:
    """What a task has written there, once it has."""
    async with asyncio.timeout(PATIENCE_S):
        while not (path.exists() and path.read_text().endswith("\n")):
            await asyncio.sleep(0.02)
    return path.read_text()


def keeper_of(folder: Path) -> int:
    """Raises OSError if there is none."""
    root = os.open(folder, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"/proc/self/fd/{root}/keeper.sock")
            inbox = Inbox()
            while data := link.recv(65536):
                for body in inbox.feed(data):
                    hello = read_answer(body)
                    assert isinstance(hello, Hello)
                    return hello.pid
    finally:
        os.close(root)
    raise ConnectionResetError("the keeper said nothing")
