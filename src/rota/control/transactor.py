"""One after the other: commands are tried on a draft, the draft is kept, and then it counts.

    do(command) ─► queue ─► drafts on memory ─► one transaction ─► memory, followers, instructions
                     ▲                              │ can't be kept
                     └── all that came meanwhile    └─► nothing happened: everybody is told so

What comes in while a transaction is written goes into the next: the busier, the larger they are. A large one,
as of an array of 100,000, is tried and taken into memory in slices: in between, everybody else is answered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

import structlog

from rota.control.access import SYSTEM
from rota.control.draft import Draft
from rota.control.errors import Conflict, Unavailable
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.origin import current
from rota.control.slices import SLICE, Sliced, in_slices
from rota.control.trial import Asked, setting_aside, try_all
from rota.lifecycle.instructions import Instruction
from rota.model.ids import JobId
from rota.store.errors import StoreDiverged, StoreError, StoreUnavailable, ValueRejected
from rota.store.store import Store
from rota.store.writing.batch import Batch, StoredEvent

P = ParamSpec("P")
R = TypeVar("R")

MOST = 1000
"""Commands in one transaction."""
CHECK_S = 2.0
"""How often somebody looks whether the store is still there, if nothing is asked of it anyway."""
RETRY_S = 1.0
"""The same, while it can keep nothing."""

log = structlog.get_logger()


class Follower(Protocol):
    """Is told what was kept, and is to do what follows from it. Must not wait."""

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None: ...


class Transactor:
    """One queue, and what becomes of a turn of it. Each step may fail, and then the ones before it haven't
    happened."""

    def __init__(
        self, store: Store, memory: Memory, feed: Feed, clock: Callable[[], int], chance: Callable[[], float]
    ) -> None:
        self.memory = memory
        self.store = store
        self.feed = feed
        self.fault = ""
        """Why nothing can be kept at the moment; empty: all is well."""
        self.last_commit_s = 0.0
        """How long the latest transaction took."""
        self.reloaded = asyncio.Event()
        """Set when memory was read anew: instructions that were given may be missing, or be out of date."""
        self._clock = clock
        self._last_ms = 0
        self._chance = chance
        self._followers: list[Follower] = []
        self._queue: deque[Asked[Any]] = deque()
        self._wake = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, "rota-writer")
        self._is_behind = False
        """More is kept than memory knows of: it is to be read anew before anything else is tried."""
        self._stopped = False

    def follow(self, follower: Follower) -> None:
        self._followers.append(follower)

    def now_ms(self) -> int:
        """Never goes back, whatever is done to the machine's clock."""
        self._last_ms = max(self._last_ms, self._clock())
        return self._last_ms

    async def do(
        self, command: Callable[[Draft], R | Sliced[R]], dry_run: bool = False, about: JobId | None = None
    ) -> R:
        """What the command answers, once its changes are kept; in a dry run they are dropped. `about`: the
        job that is set aside if the command turns out to be more than Rota can handle."""
        if self._stopped:
            raise _stopping()
        answer: asyncio.Future[R] = _future()
        self._queue.append(Asked(command, answer, dry_run, about, origin=current()))
        self._wake.set()
        return await answer

    async def do_each(
        self, commands: Iterable[tuple[JobId, Callable[[Draft], object]]]
    ) -> list[Exception | None]:
        """As if each were asked for by itself, about that job, but cheaper: what became of each, once all
        that can be are kept. Commands must change nothing but the draft: some may be tried twice."""
        asked = [Asked(command, _future(), job=job, is_repeatable=True) for job, command in commands]
        if self._stopped:
            return [_stopping() for _ in asked]
        self._queue.extend(asked)
        self._wake.set()
        return [await _failure(one.answer) for one in asked]

    async def numbers(self, count: int) -> int:
        """The first of so many fresh numbers for jobs."""
        if self._stopped:
            raise _stopping()
        try:
            return await self._in_writer(self.store.numbers.allocate, count)
        except StoreUnavailable as error:
            self._refuse([], error)
            raise _unavailable(error) from None

    async def run(self) -> None:
        while not self._stopped or self._queue:
            if not self._queue:
                await self._wait()
                continue
            taken = [self._queue.popleft() for _ in range(min(MOST, len(self._queue)))]
            await self._turn(taken)

    async def _wait(self) -> None:
        """For something to do. Meanwhile it is found out whether the store is gone, or back again."""
        self._wake.clear()
        try:
            async with asyncio.timeout(RETRY_S if self.fault else CHECK_S):
                await self._wake.wait()
        except TimeoutError:
            if self.fault:
                await self._turn([])
            else:
                await self._check()

    async def _check(self) -> None:
        try:
            await self._in_writer(self.store.job, JobId("0"))
        except StoreError as error:
            self._refuse([], error)

    async def stop(self) -> None:
        """After what was asked before."""
        self._stopped = True
        self._wake.set()

    async def close(self) -> None:
        self._writer.shutdown()

    async def _turn(self, taken: list[Asked[Any]]) -> None:
        if self._is_behind:
            if not await self._reload(taken):
                return
            taken = self._without_outdated(taken)
        draft = Draft(self.memory, self.now_ms(), self._chance)
        done = await try_all(taken, draft)
        if self.fault:
            draft.note("store.Recovered", "store", SYSTEM, {"fault": self.fault})
        batch = draft.sealed()
        if not batch.is_empty:
            batch.usage = self.memory.charges.unsaved()
            try:
                last_seq = await self._keep(batch)
            except ValueRejected as error:
                await self._turn_one_by_one(done, error)
                return
            except StoreDiverged as error:
                self._is_behind = True
                self._refuse(done, error)
                return
            except StoreError as error:
                self._refuse(done, error)
                return
            if self.fault:
                log.info("store.available")
                self.fault = ""
            await self._publish(batch, draft.instructions, last_seq)
        for asked in done:
            if asked.origin is not None and asked.is_recorded:
                asked.origin.is_recorded = True
            if not asked.answer.done():
                asked.answer.set_result(asked.result)

    async def _keep(self, batch: Batch) -> int:
        clock = asyncio.get_running_loop().time
        began = clock()
        last_seq = await self._in_writer(self.store.commit, batch)
        self.last_commit_s = clock() - began
        return last_seq

    async def _in_writer(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._writer, partial(call, *args, **kwargs))

    async def _turn_one_by_one(self, done: list[Asked[Any]], error: ValueRejected) -> None:
        """One of them is more than the store can take; the others are not to suffer for it."""
        if len(done) != 1:
            for asked in done:
                await self._turn([asked])
            return
        [asked] = done
        log.error("store.rejected", job=asked.job, why=str(error))
        if not asked.answer.done():
            asked.answer.set_exception(Conflict(f"the database rejected this: {error}"))
        if asked.job is not None and not asked.is_setting_aside:
            await self._turn([setting_aside(asked.job, error)])

    async def _reload(self, taken: list[Asked[Any]]) -> bool:
        """What was taken for lost turned out to be kept: memory is behind, and so is all that follows it."""
        try:
            loaded = await self._in_writer(self.store.load)
        except StoreError as error:
            self._refuse(taken, error)
            return False
        self.memory.reload(loaded, self.now_ms())
        self.feed.skip_to(loaded.last_seq)
        self.reloaded.set()
        self._is_behind = False
        return True

    def _without_outdated(self, taken: list[Asked[Any]]) -> list[Asked[Any]]:
        """What was decided on memory as it was before is refused: its room may be somebody else's."""
        for asked in (*taken, *self._queue):
            if asked.is_repeatable and not asked.answer.done():
                asked.answer.set_exception(Unavailable("the state was read again", "ask again"))
        self._queue = deque(asked for asked in self._queue if not asked.is_repeatable)
        return [asked for asked in taken if not asked.is_repeatable]

    def _refuse(self, done: list[Asked[Any]], error: StoreError) -> None:
        if self.fault != str(error):
            log.error("store.unavailable", why=str(error))
        self.fault = str(error)
        for asked in done:
            if not asked.answer.done():
                asked.answer.set_exception(_unavailable(error))

    async def _publish(self, batch: Batch, instructions: Sequence[Instruction], last_seq: int) -> None:
        await in_slices(self.memory.absorbing(batch, SLICE))
        first = last_seq - len(batch.events) + 1
        self.feed.publish([StoredEvent(first + at, row) for at, row in enumerate(batch.events)])
        for follower in self._followers:
            if len(batch.jobs) > SLICE:
                await asyncio.sleep(0)
            follower.kept(batch, instructions)


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


async def _failure(answer: asyncio.Future[Any]) -> Exception | None:
    try:
        await answer
    except Exception as error:
        return error
    return None


def _stopping() -> Unavailable:
    return Unavailable("the server is stopping", "ask again once it is back")


def _unavailable(error: StoreError) -> Unavailable:
    return Unavailable("the database can't be written at the moment", "try again in a moment", str(error))
