"""One of several servers on a database: it leads when it can, and passes requests on while it can't.

stand by ──► the lease is free ──► lead: load, schedule, answer ──► the lease is lost ──► stand by
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from litestar.types import ASGIApp, Receive, Scope, Send

from rota.control.leader import Leader
from rota.server.http.tls import Certificate

_HOLDER_FILE = "replica"


class Stage:
    """The application of the moment: a leader's for as long as it is sure to lead."""

    def __init__(self, standby: ASGIApp) -> None:
        self._standby = standby
        self._leading: ASGIApp | None = None
        self._leads: Callable[[], bool] = always

    def lead(self, app: ASGIApp, leads: Callable[[], bool]) -> None:
        self._leading, self._leads = app, leads

    def clear(self) -> None:
        self._leading = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._standby if self._leading is None or not self._leads() else self._leading
        await app(scope, receive, send)


def always() -> bool:
    """Leads, who is the only server of its database."""
    return True


async def take_turns(
    leader: Leader, lead: Callable[[asyncio.Event], Awaitable[None]], told_to_stop: asyncio.Event
) -> None:
    """`lead` returns when the server is asked to stop, or when its event is set."""
    while await _leads(leader, told_to_stop):
        holding = asyncio.create_task(leader.hold())
        try:
            await lead(leader.lost)
        finally:
            await leader.resign()
            await holding


async def _leads(leader: Leader, told_to_stop: asyncio.Event) -> bool:
    """Returns once this server is the leader; False: it was asked to stop before."""
    if told_to_stop.is_set():
        return False
    leading = asyncio.create_task(leader.lead())
    stopping = asyncio.create_task(told_to_stop.wait())
    await asyncio.wait((leading, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if told_to_stop.is_set():
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        await leader.resign()
        return False
    leading.result()
    return True


def holder_of(folder: Path) -> str:
    """Who a server is among others: the same as long as its folder is, which no two servers use at once."""
    path = folder / _HOLDER_FILE
    if not path.exists():
        unfinished = path.with_suffix(".new")
        unfinished.write_text(token_hex(8))
        unfinished.replace(path)
    return path.read_text().strip()


def fingerprint_of(certificate: Certificate | None) -> str:
    """Of what a server shows; empty: it shows none."""
    if certificate is None:
        return ""
    first, end, _ = certificate.certificate.read_text().partition(ssl.PEM_FOOTER)
    return sha256(ssl.PEM_cert_to_DER_cert(first[first.index(ssl.PEM_HEADER) :] + end)).hexdigest()
