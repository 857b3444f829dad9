"""Input files from the server, and outputs and results to it, over its REST interface."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import TypeVar
from urllib.parse import quote

import aiohttp
import structlog
from msgspec import json

from rota.agent.session import Session
from rota.backends.backend import TaskEnded, TaskRef, TaskStarted
from rota.backends.process.files import FileStore, Rejected
from rota.model.run import InputFile
from rota.patience.backoff import Backoff
from rota.patience.breaker import Breaker
from rota.patience.guard import Guard

log = structlog.get_logger()
T = TypeVar("T")

MOST_CONNECTIONS = 200
_TRIES = 6
_PAUSES = Backoff(first_s=0.3, longest_s=10.0)
_BREAKER = Breaker(limit=10, pauses=Backoff(first_s=1.0, longest_s=15.0))
"""For all tasks together: hundreds that each try by themselves would keep a server down that comes back."""
_PIECE_BYTES = 1 << 18
_WITHIN = aiohttp.ClientTimeout(total=600, sock_connect=10, sock_read=60)


class Refused(Exception):
    """The server won't have it, however often it is asked."""


class Rest:
    """Whatever fails on the way is tried again for a while, with growing pauses."""

    def __init__(self, files: FileStore, ssl: SSLContext | None = None) -> None:
        self._files = files
        self._http = aiohttp.ClientSession(
            timeout=_WITHIN,
            connector=aiohttp.TCPConnector(limit=MOST_CONNECTIONS, ssl=True if ssl is None else ssl),
        )
        self._fetching: dict[str, asyncio.Lock] = {}
        self._guard = Guard(_BREAKER)

    async def close(self) -> None:
        await self._http.close()

    async def fetch(self, session: Session, file: InputFile) -> None:
        """Into the store that tasks' folders are filled from; once, however many ask for it. One that can't
        be had is missed when its task is to start, which ends with the reason."""
        lock = self._fetching.setdefault(file.sha256, asyncio.Lock())
        try:
            async with lock:
                if self._files.find(file.sha256) is None:
                    await self._try(partial(self._fetch, session, file))
        except (Refused, Rejected, aiohttp.ClientError, TimeoutError, OSError) as error:
            log.warning("an input file can't be had", sha256=file.sha256, why=str(error))
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
        ref = ended.ref
        for path in await asyncio.to_thread(_files_below, outputs):
            name = path.relative_to(outputs).as_posix()
            await self._try(partial(self._put_output, session, ref, path, name))
        await self._try(partial(self._put_result, session, started, ended, output_bytes))

    async def _fetch(self, session: Session, file: InputFile) -> None:
        url = f"{session.rest_url}/v1/files/{file.sha256}"
        async with self._http.get(url, headers=_headers(session)) as answer:
            await _check(answer)
            await self._files.put(
                answer.content.iter_chunked(_PIECE_BYTES), sha256=file.sha256, largest_bytes=file.size_bytes
            )

    async def _put_output(self, session: Session, ref: TaskRef, path: Path, name: str) -> None:
        url = f"{_result_url(session, ref)}/outputs/{quote(name)}"
        async with self._http.put(url, data=_pieces(path), headers=_headers(session)) as answer:
            await _check(answer)

    async def _put_result(
        self, session: Session, started: TaskStarted | None, ended: TaskEnded, output_bytes: int
    ) -> None:
        end = ended.end
        result = {
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
        url = _result_url(session, ended.ref)
        headers = {**_headers(session), "Content-Type": "application/json"}
        async with self._http.put(url, data=json.encode(result), headers=headers) as answer:
            await _check(answer)

    async def _try(self, call: Callable[[], Awaitable[T]]) -> T:
        for tries in range(1, _TRIES + 1):
            while (wait_s := self._guard.admit()) > 0:
                await asyncio.sleep(wait_s)
            try:
                answer = await call()
            except (aiohttp.ClientError, TimeoutError, OSError):
                self._guard.failed()
                if tries == _TRIES:
                    raise
                await asyncio.sleep(_PAUSES.pause_s(tries, random.random()))
            else:
                self._guard.succeeded()
                return answer
        raise AssertionError("the last try returns or raises")


def _headers(session: Session) -> dict[str, str]:
    return {"Authorization": f"Bearer {session.secret}"}


def _result_url(session: Session, ref: TaskRef) -> str:
    return f"{session.rest_url}/v1/results/{ref.job}/{ref.rank}/{ref.fence}"


async def _check(answer: aiohttp.ClientResponse) -> None:
    if answer.status in (408, 429) or answer.status >= 500:
        answer.raise_for_status()
    if answer.status >= 400:
        raise Refused(f"{answer.status}: {(await answer.text())[:500]}")


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
            yield piece


def _files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
