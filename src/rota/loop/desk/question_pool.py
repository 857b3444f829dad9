"""Questions that are answered by deciding: in threads, a few at a time, each within a time.

    user's own questions, one at a time ──► a few of all users' ──► a thread ──► answer, or out of time

Questions never delay a decision, an agent or a request, and those of one user delay only that user's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import TypeVar, cast

from msgspec import Struct

from rota.control.errors import Unavailable
from rota.engine.budget import Budget
from rota.loop.hosting.time_limit import TimeLimit
from rota.loop.live.side_threads import Aside

T = TypeVar("T")

PATIENCE = 2
"""An answer leaves things out once its time is up. If it isn't ready after this many times that time, it is
interrupted."""


class QuestionLimits(Struct, frozen=True):
    time_s: float = 10.0
    """After which an answer leaves out what it can do without."""
    at_once: int = 2
    waiting: int = 100
    """Of all users; who comes after is refused."""
    waiting_of_user: int = 10


DEFAULT_LIMITS = QuestionLimits()


class OutOfTime(Unavailable):
    """It took too long, and was given up."""


class TimeBudget:
    def __init__(self, seconds: float) -> None:
        self._until_s = monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        return monotonic() > self._until_s


@asynccontextmanager
async def _soon(turn: asyncio.Lock | asyncio.Semaphore, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            await turn.acquire()
    except TimeoutError:
        raise Unavailable(
            f"questions before this one took longer than {seconds:g} s", "try again in a moment"
        ) from None
    try:
        yield
    finally:
        turn.release()


class Questions:
    def __init__(self, limits: QuestionLimits = DEFAULT_LIMITS, name: str = "rota-question") -> None:
        self.limits = limits
        self._aside = Aside(name, limits.at_once)
        self._free = asyncio.Semaphore(limits.at_once)
        self._of_user: dict[str, tuple[asyncio.Lock, int]] = {}
        """Of users who ask or wait, and how many questions they have."""

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        """In which the user may ask. Unavailable: too many wait already, or those before take too long."""
        lock, count = self._of_user.get(user, (asyncio.Lock(), 0))
        in_all = sum(waiting for _, waiting in self._of_user.values())
        if count > self.limits.waiting_of_user or in_all >= self.limits.waiting + self.limits.at_once:
            whose = "of yours" if count > self.limits.waiting_of_user else "of others"
            raise Unavailable(f"too many questions {whose} wait for an answer", "try again in a moment")
        self._of_user[user] = lock, count + 1
        try:
            async with _soon(lock, self.limits.time_s), _soon(self._free, self.limits.time_s):
                yield
        finally:
            count = self._of_user[user][1] - 1
            if count:
                self._of_user[user] = lock, count
            else:
                del self._of_user[user]

    async def answered(self, call: Callable[[Budget], T]) -> T:
        """Within one's turn. OutOfTime: it was interrupted, and nothing has changed."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._aside, self._within_time, call)

    async def ask(self, user: str, call: Callable[[Budget], T]) -> T:
        async with self.turn(user):
            return await self.answered(call)

    def _within_time(self, call: Callable[[Budget], T]) -> T:
        seconds = self.limits.time_s
        with TimeLimit(PATIENCE * seconds) as limited:
            try:
                return cast(T, limited(lambda: call(TimeBudget(seconds))))
            except TimeoutError:
                raise OutOfTime(
                    f"the answer took longer than {PATIENCE * seconds:g} s and was given up",
                    "try again when the server is less busy, or ask about fewer jobs",
                ) from None

    def close(self) -> None:
        self._aside.shutdown()
