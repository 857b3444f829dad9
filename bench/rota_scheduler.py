"""`rota scheduler` in a process of its own, and a controller with many actions that dials it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from bench.rota_agent import free_port
from bench.rota_server import CACHE, PATIENCE_S
from bench.wire import Wire
from rota.stateless_scheduler.client import (
    Action,
    Ended,
    FilePart,
    Output,
    Placement,
    Refused,
    SchedulerClient,
)
from rota.trust.local_socket import SOCKET_FILE

_NAME = "bench"
_TOKEN = "a-token-that-nobody-would-guess-0123456789"


class RotaScheduler:
    def __init__(self, name: str) -> None:
        self._folder = CACHE / name
        self.target = f"unix:{self._folder / 'door' / SOCKET_FILE}"
        self.controllers = f"127.0.0.1:{free_port()}"
        self._rest_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        tokens = self._folder / "tokens"
        tokens.write_text(f"{_NAME} {_TOKEN}\n")
        tokens.chmod(0o600)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Returns once it is ready."""
        addresses = ("--agents", self.target, "--controllers", self.controllers)
        with (self._folder / "scheduler.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(str(Path(sys.executable).with_name("rota")), "scheduler", *addresses),
                    *("--rest", f"127.0.0.1:{self._rest_port}", "--tokens", str(self._folder / "tokens")),
                ],
                env={key: value for key, value in os.environ.items() if not key.startswith("ROTA_")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + PATIENCE_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the scheduler isn't ready: see {self._folder / 'scheduler.log'}")
            time.sleep(0.01)

    def _is_ready(self) -> bool:
        try:
            with Wire(self._rest_port, "") as wire:
                return wire.ask("GET", "/healthz")[0] == 200
        except ConnectionRefusedError:
            return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Controller:
    """A process with so many actions, all of them said when it connects."""

    def __init__(self, target: str, count: int) -> None:
        self._process = get_context("spawn").Process(target=_direct, args=(target, count), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()


def _direct(target: str, count: int) -> None:
    asyncio.run(SchedulerClient(target, _NAME, _TOKEN, _Ledger(count)).run())


class _Ledger:
    """Implements Ledger, in memory: what is measured is the scheduler."""

    def __init__(self, count: int) -> None:
        job = {"command": ["sleep", "36000"], "resources": {"cpu": 1, "memory": 0}}
        self._actions = {f"action-{number}": Action(f"action-{number}", job) for number in range(count)}

    def unfinished(self) -> Iterable[Action]:
        return self._actions.values()

    async def placed(self, placements: Sequence[Placement]) -> None:
        for one in placements:
            if one.action in self._actions:
                self._actions[one.action] = replace(self._actions[one.action], placement=one)

    async def waiting(self, actions: Sequence[str], reason: str) -> None:
        for action in actions:
            if action in self._actions:
                self._actions[action] = replace(self._actions[action], placement=None)

    async def running(self, action: str, fence: int, at_ms: int) -> None:
        pass

    async def output(self, output: Output) -> None:
        pass

    async def file(self, part: FilePart) -> None:
        pass

    async def ended(self, ended: Ended) -> None:
        self._actions.pop(ended.action, None)

    async def refused(self, refused: Refused) -> None:
        raise SystemExit(f"the scheduler refuses {refused.action}: {refused.field}: {refused.problem}")
