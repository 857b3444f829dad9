"""The same request sent twice, since its answer was lost on the way, is carried out once.

The answer is kept by a desk in the transaction of the change; here is what recognises the second one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from http import HTTPStatus

from rota.server.http.problems import ProblemError, bad_input
from rota.server.http.reply import Reply
from rota.store.writing.batch import Answer

HEADER = "idempotency-key"
MAX_LENGTH = 200


class KeyedRequest:
    """A request with a key: its user and its content."""

    def __init__(self, user: str, key: str, method: str, path: str, body: bytes) -> None:
        if not key or len(key) > MAX_LENGTH or not key.isascii() or not key.isprintable():
            raise bad_input(
                "Idempotency-Key",
                "is empty, too long, or has characters that can't be in a header",
                f"give 1 to {MAX_LENGTH} printable ASCII characters, as of a UUID",
            )
        self.scope = user
        self.key = key
        self.request_sha256 = sha256(b"\0".join((method.encode(), path.encode(), body))).hexdigest()

    def answer(self, reply: Reply, at_ms: int) -> Answer:
        return Answer(self.scope, self.key, self.request_sha256, reply.status, reply.body, at_ms)

    async def earlier_reply(self, kept: Callable[[str, str], Awaitable[Answer | None]]) -> Reply | None:
        """None: it is the first with this key. `kept`: the answer that is kept by its scope and key."""
        answer = await kept(self.scope, self.key)
        if answer is None:
            return None
        if answer.request_sha256 != self.request_sha256:
            raise ProblemError(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "key-reused",
                "this key was used for another request before",
                field="Idempotency-Key",
                help="make a new key for every new request",
            )
        return Reply(answer.status, answer.body, headers=(("idempotency-replayed", "true"),))


class InFlight:
    """Requests with a key that are being carried out: an equal one waits for the first one's answer."""

    def __init__(self) -> None:
        self._locks: dict[tuple[str, str], tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def alone(self, keyed: KeyedRequest) -> AsyncIterator[None]:
        name = (keyed.scope, keyed.key)
        lock, users = self._locks.get(name) or (asyncio.Lock(), 0)
        self._locks[name] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(name)
            if users > 1:
                self._locks[name] = (lock, users - 1)
