"""How much a client may ask for: bytes, requests a second, connections, time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address
from math import ceil

from litestar.types import Receive, Scope
from msgspec import Struct

from rota.api.limits import BODY_BYTES
from rota.server.http.problems import ProblemError

MIB = 2**20
_MANY_JOBS = "many jobs can be submitted with one request"
_FORWARDED_FOR = b"x-forwarded-for"


class Limits(Struct, frozen=True):
    body_bytes: int = BODY_BYTES
    file_bytes: int = 64 * MIB
    body_seconds: float = 60
    """For the whole of a body to arrive; a file may take as long for every MiB."""
    header_bytes: int = 64 * 1024
    header_seconds: float = 10
    """From the connection, or from the answer before, until the headers are complete once they have begun."""
    connections: int = 1000
    """For all clients; see `places.py` for those reserved on top."""
    connections_per_user: int = 250
    streams_per_user: int = 100
    """Logs and events that are followed; of one token half as many."""
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Who speaks for others, and says for whom."""
    requests_per_second: float = 2000
    """Of one token, and of one address, in the long run."""
    burst: int = 4000
    """As many at once after a pause."""
    tokens_per_user: int = 100
    """Of those that are valid."""
    sessions_per_user: int = 20
    """Of browsers. One more, and the oldest ends."""
    token_age_ms: int | None = None
    """No new token lasts longer; None: they may last for ever."""
    heartbeat_seconds: float = 15
    """A stream that has nothing to say says so this often, and ends by then if it is no longer allowed."""


DEFAULT_LIMITS = Limits()


def is_proxy(address: str, proxies: Sequence[IPv4Network | IPv6Network]) -> bool:
    try:
        return any(ip_address(address) in network for network in proxies)
    except ValueError:
        return False


def client_of(scope: Scope, proxies: Sequence[IPv4Network | IPv6Network]) -> str:
    """Where a request comes from, and the one place that says so; of one that a proxy passes on, whom the
    proxy says. What those before the proxy say could be made up."""
    client = scope.get("client")
    address = client[0] if client else ""
    if not proxies or not is_proxy(address, proxies):
        return address
    said = ",".join(value.decode("latin-1") for name, value in scope["headers"] if name == _FORWARDED_FOR)
    for one in reversed(said.split(",")):
        if one.strip() and not is_proxy(address, proxies):
            break
        address = one.strip() or address
    return address


class RateLimit:
    """A bucket of tokens for each client, filled at a steady rate. Those that are full are forgotten."""

    def __init__(
        self, per_second: float, burst: int, most_clients: int = 10_000, help: str = _MANY_JOBS
    ) -> None:
        """`help`: how a client gets on with fewer requests."""
        self._help = help
        self._per_second = per_second
        self._burst = burst
        self._most_clients = most_clients
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """How many are left, and when that was so; the latest to ask is last."""

    def take(self, client: str, now_ms: int) -> None:
        left, at_ms = self._buckets.get(client, (float(self._burst), now_ms))
        left = min(self._burst, left + max(0, now_ms - at_ms) * self._per_second / 1000)
        if left < 1:
            self._buckets[client] = (left, now_ms)
            raise _too_many(ceil((1 - left) / self._per_second), self._help)
        self._buckets[client] = (left - 1, now_ms)
        self._buckets.move_to_end(client)
        if len(self._buckets) > self._most_clients:
            self._buckets.popitem(last=False)


def _too_many(wait_s: int, help: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-requests",
        "this client sends too many requests",
        help=f"wait {wait_s} s; {help}",
        headers=(("retry-after", str(wait_s)),),
    )


async def body_chunks(
    receive: Receive, most_bytes: int, within_seconds: float, stated_bytes: str | None
) -> AsyncIterator[bytes]:
    """The body as it arrives, never more of it than allowed and never for longer."""
    if stated_bytes is not None and stated_bytes.isdigit() and int(stated_bytes[:18]) > most_bytes:
        raise _too_large(most_bytes)
    deadline = asyncio.get_running_loop().time() + within_seconds
    size_bytes, more = 0, True
    while more:
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise _too_late(within_seconds) from None
        if message["type"] == "http.disconnect":
            raise _gone()
        assert message["type"] == "http.request"
        chunk: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        size_bytes += len(chunk)
        if size_bytes > most_bytes:
            raise _too_large(most_bytes)
        if chunk:
            yield chunk


async def whole_body(receive: Receive, limits: Limits, stated_bytes: str | None) -> bytes:
    chunks = body_chunks(receive, limits.body_bytes, limits.body_seconds, stated_bytes)
    return b"".join([chunk async for chunk in chunks])


def _too_large(most_bytes: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too-large",
        f"the body has more than {most_bytes:,} bytes",
        help="send less at a time: jobs in several requests, files with PUT /v1/files",
        headers=(("connection", "close"),),
    )


def _too_late(within_seconds: float) -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_TIMEOUT,
        "timeout",
        f"the body didn't arrive within {within_seconds:g} s",
        help="send it again, over a faster connection or in smaller parts",
        headers=(("connection", "close"),),
    )


def _gone() -> ProblemError:
    return ProblemError(
        HTTPStatus.BAD_REQUEST, "bad-request", "the client went away before its body was complete"
    )
