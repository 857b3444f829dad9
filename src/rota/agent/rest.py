"""Input files from the server, and outputs and results to it: with patience."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import structlog
from aiohttp import ClientError

from rota.agent.http import Refused
from rota.agent.session import Session
from rota.backends.backend import TaskEnded, TaskRef, TaskStarted
from rota.backends.process.client.files import FileStore, Rejected
from rota.model.run import InputFile
from rota.patience.backoff import Backoff
from rota.patience.breaker import Breaker
from rota.patience.guard import Guard

log = structlog.get_logger()
T = TypeVar("T")

_TRIES = 6
_PAUSES = Backoff(first_s=0.3, longest_s=10.0)
_BREAKER = Breaker(limit=10, pauses=Backoff(first_s=1.0, longest_s=15.0))
"""For all tasks together: hundreds that each try by themselves would keep a server down that comes back."""


class Requests(Protocol):
    """What `Http` does."""

    def file(self, session: Session, sha256: str) -> AsyncIterator[bytes]: ...

    async def put_output(self, session: Session, ref: TaskRef, name: str, path: Path) -> None: ...

    async def put_result(self, session: Session, ref: TaskRef, result: Mapping[str, object]) -> None: ...


class Rest:
    """A request that fails is tried again for a while, with growing pauses."""

    def __init__(
        self, requests: Requests, files: FileStore, chance: Callable[[], float] = random.random
    ) -> None:
        self._requests = requests
        self._files = files
        self._chance = chance
        self._fetching: dict[str, asyncio.Lock] = {}
        self._guard = Guard(_BREAKER)

    async def fetch(self, session: Session, file: InputFile) -> None:
        """Into the store that tasks' folders are filled from; once, however many ask for it. One that can't
        be had is missed when its task is to start, which ends with the reason."""
        lock = self._fetching.setdefault(file.sha256, asyncio.Lock())
        try:
            async with lock:
                if self._files.find(file.sha256) is None:
                    await self._try(partial(self._fetch, session, file))
        except (Refused, Rejected, ClientError, TimeoutError, OSError) as error:
            log.warning("task.input_unavailable", sha256=file.sha256, why=str(error))
        finally:
            if not lock.locked():
                self._fetching.pop(file.sha256, None)

    async def deliver(
        self,
        session: Session,
        started: TaskStarted | None,
        ended: TaskEnded,
        outputs: Path,
        output_bytes: int,
    ) -> None:
        """What the task left, then how it ended, `output_bytes` having been sent by its stream. Raises what
        keeps it from arriving."""
        ref, put_output, put_result = ended.ref, self._requests.put_output, self._requests.put_result
        for path in await asyncio.to_thread(_files_below, outputs):
            name = path.relative_to(outputs).as_posix()
            await self._try(partial(put_output, session, ref, name, path))
        await self._try(partial(put_result, session, ref, result_of(started, ended, output_bytes)))

    async def _fetch(self, session: Session, file: InputFile) -> None:
        async with aclosing(self._requests.file(session, file.sha256)) as pieces:  # type: ignore[type-var]
            await self._files.put(pieces, sha256=file.sha256, largest_bytes=file.size_bytes)

    async def _try(self, call: Callable[[], Awaitable[T]]) -> T:
        for tries in range(1, _TRIES + 1):
            while (wait_s := self._guard.admit()) > 0:
                await asyncio.sleep(wait_s)
            try:
                answer = await call()
            except (ClientError, TimeoutError, OSError):
                self._guard.failed()
                if tries == _TRIES:
                    raise
                await asyncio.sleep(_PAUSES.pause_s(tries, self._chance()))
            else:
                self._guard.succeeded()
                return answer
        raise AssertionError("the last try returns or raises")


def result_of(started: TaskStarted | None, ended: TaskEnded, output_bytes: int) -> dict[str, object]:
    """As the server's `ResultForm` reads it."""
    end = ended.end
    return {
        "started_ms": None if started is None else started.at_ms,
        "ended_ms": ended.at_ms,
        "reason": end.reason,
        "exit_code": end.exit_code,
        "signal": end.signal,
        "message": end.message.encode("utf-8", "backslashreplace").decode(),
        "cpu_ms": end.used.cpu_ms,
        "max_memory_bytes": end.used.max_memory_bytes,
        "output_bytes": output_bytes,
    }


def _files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
