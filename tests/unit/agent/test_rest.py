"""What an agent asks of REST is tried again for a while; a server that is gone is left alone by all tasks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from rota.agent import rest as module
from rota.agent.rest import Rest
from rota.backends.process.client.files import FileStore
from rota.backends.process.folders import Folders
from rota.patience.guard import Guard


class Server:
    """Answers after so many failures. Sleeping moves its clock, and takes no time."""

    def __init__(self, failures: int) -> None:
        self.now_s = 0.0
        self.asked_s: list[float] = []
        self._failures = failures

    async def answer(self) -> str:
        self.asked_s.append(self.now_s)
        if len(self.asked_s) <= self._failures:
            raise aiohttp.ClientConnectionError("nobody there")
        return "here"

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


async def tried(server: Server, folder: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """By so many tasks, one after the other."""
    nobody: Any = None
    rest = Rest(nobody, FileStore(Folders(folder)))
    rest._guard = Guard(module._BREAKER, clock=lambda: server.now_s)
    monkeypatch.setattr(asyncio, "sleep", server.sleep)
    said = []
    for _ in range(times):
        try:
            said.append(await rest._try(server.answer))
        except aiohttp.ClientConnectionError as error:
            said.append(str(error))
    monkeypatch.undo()
    return said


def test_what_fails_is_tried_again_with_growing_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(failures=5)
    assert asyncio.run(tried(server, tmp_path, 1, monkeypatch)) == ["here"]
    pauses = [after - before for before, after in zip(server.asked_s, server.asked_s[1:], strict=False)]
    for number, pause_s in enumerate(pauses):
        assert 0.15 * 2**number <= pause_s <= 0.3 * 2**number


def test_it_gives_up_after_six_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(failures=100)
    assert asyncio.run(tried(server, tmp_path, 1, monkeypatch)) == ["nobody there"]
    assert len(server.asked_s) == 6


@pytest.mark.covers("job-6")
def test_a_server_that_is_gone_is_asked_less_and_less_however_many_tasks_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(failures=30)
    said = asyncio.run(tried(server, tmp_path, 7, monkeypatch))
    assert said == ["nobody there"] * 5 + ["here"] * 2
    pauses = [
        after - before for before, after in zip(server.asked_s[20:], server.asked_s[21:30], strict=False)
    ]
    assert min(pauses) >= 14.9
