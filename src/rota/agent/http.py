"""The server's REST interface, as an agent calls it: one request at a time, without patience."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from ssl import SSLContext
from urllib.parse import quote

import aiohttp
from msgspec import json

from rota.agent.session import Session
from rota.backends.backend import TaskRef

MOST_CONNECTIONS = 200
EXECUTABLE = "rota-executable"
"""The header of a file that is."""
_PIECE_BYTES = 1 << 18
_WITHIN = aiohttp.ClientTimeout(total=600, sock_connect=10, sock_read=60)


class Refused(Exception):
    """The server won't have it, however often it is asked."""


class Http:
    """All raise Refused, and OSError, TimeoutError or aiohttp.ClientError if a request doesn't arrive."""

    def __init__(self, ssl: SSLContext | None = None) -> None:
        self._http = aiohttp.ClientSession(
            timeout=_WITHIN,
            connector=aiohttp.TCPConnector(limit=MOST_CONNECTIONS, ssl=True if ssl is None else ssl),
        )

    async def close(self) -> None:
        await self._http.close()

    async def file(self, session: Session, sha256: str) -> AsyncIterator[bytes]:
        url = f"{session.rest_url}/v1/files/{sha256}"
        async with self._http.get(url, headers=_headers(session), ssl=_trust(session)) as answer:
            await _check(answer)
            async for piece in answer.content.iter_chunked(_PIECE_BYTES):
                yield piece

    async def put_output(self, session: Session, ref: TaskRef, name: str, path: Path) -> None:
        url = f"{_result_url(session, ref)}/outputs/{quote(name)}"
        async with self._http.put(
            url, data=_pieces(path), headers=_headers(session) | _mode_of(path), ssl=_trust(session)
        ) as answer:
            await _check(answer)

    async def put_result(self, session: Session, ref: TaskRef, result: Mapping[str, object]) -> None:
        headers = {**_headers(session), "Content-Type": "application/json"}
        url = _result_url(session, ref)
        async with self._http.put(
            url, data=json.encode(result), headers=headers, ssl=_trust(session)
        ) as answer:
            await _check(answer)


def _headers(session: Session) -> dict[str, str]:
    return {"Authorization": f"Bearer {session.secret}"}


def _mode_of(path: Path) -> dict[str, str]:
    """A header, because servers of before refuse a query that they don't know."""
    return {EXECUTABLE: "true"} if path.stat().st_mode & stat.S_IXUSR else {}


def _trust(session: Session) -> aiohttp.Fingerprint | bool:
    """True: as the connector does."""
    return aiohttp.Fingerprint(session.certificate_sha256) if session.certificate_sha256 else True


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
