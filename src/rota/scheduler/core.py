"""The scheduler put together: control, loop and dispatch of the server, controllers in place of a store."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import cast

import structlog

from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskRef
from rota.backends.registry import Registry
from rota.control.controller import Controller
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.reports import Reports
from rota.dispatch.dispatcher import Dispatcher
from rota.forecast.tell import Teller
from rota.loop.live import LiveLoop
from rota.loop.measuring import Measuring
from rota.loop.metrics import Metrics
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.scheduler.actions import Book
from rota.scheduler.arrivals import ControllerArrivals
from rota.scheduler.directing import Directing
from rota.scheduler.inputs import InputFiles
from rota.scheduler.nothing_kept import NothingKept
from rota.scheduler.pool import ActionsBackend
from rota.scheduler.telling import Telling
from rota.store.store import Store

log = structlog.get_logger()

REVIEW_S = 1.0
REASONS_S = 0.25
NODES_EVERY_S = 5.0
NODES_SETTLE_S = 0.05
NODES_REST = 20.0
"""A look at the nodes is followed by a rest as long as itself, times this: each may lead to a cycle."""


class Scheduler:
    def __init__(
        self,
        controllers: list[str],
        policy: Policy,
        terms: Terms,
        abandoned_after_ms: int,
        clock: Callable[[], int],
        chance: Callable[[], float] = random.random,
    ) -> None:
        store = cast(Store, NothingKept())
        memory = Memory(policy)
        self.metrics = Metrics()
        self.files = InputFiles()
        self.controller = Controller(store, memory, Feed(store, 0), clock, chance)
        self.book = Book(controllers, clock(), abandoned_after_ms)
        self._nodes_changed = asyncio.Event()
        self.backend = ActionsBackend(
            ControllerArrivals(self.book),
            self._may_be_claimed,
            terms=terms,
            on_change=self._nodes_changed.set,
        )
        self.live = LiveLoop(self.controller, policy, Teller(None), self.metrics)
        reports = Reports(self.controller)
        self.telling = Telling(
            self.book, memory.jobs, reports, self.controller.now_ms, self._nodes_changed.set
        )
        self.dispatcher = self.telling.dispatcher = Dispatcher(
            Registry([self.backend]), memory, self.telling.keep
        )
        self.directing = Directing(
            self.book,
            self.controller,
            self.live,
            self.dispatcher,
            self.backend,
            self.telling,
            self.files,
        )
        self._measuring = Measuring(self.metrics, self.controller)
        self._tasks: list[asyncio.Task[None]] = []
        self.failed = asyncio.Event()
        """Set when a part ended. Whoever starts the whole anew loses nothing."""

    def _may_be_claimed(self, ref: TaskRef) -> bool:
        return self.book.may_be_claimed(ref, self.controller.now_ms())

    async def start(self) -> None:
        await self.backend.open()
        for follower in (self.telling, self.live, self._measuring):
            self.controller.follow(follower)
        await self.dispatcher.reconcile()
        for part in (
            self.controller.run(),
            self.dispatcher.run(),
            self.live.run(),
            self._watch_nodes(),
            self._review(),
            self._tell_reasons(),
        ):
            self._spawn(part)

    async def stop(self) -> None:
        """What runs goes on."""
        await self.controller.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.backend.close()
        await self.controller.close()

    def _spawn(self, part: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(part)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a part of the scheduler ended", why=repr(error), exc_info=error)
        self.failed.set()

    async def _watch_nodes(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(NODES_EVERY_S):
                    await self._nodes_changed.wait()
                # Changes seldom come alone.
                await asyncio.sleep(NODES_SETTLE_S)
            self._nodes_changed.clear()
            clock = asyncio.get_running_loop().time
            began = clock()
            if self.controller.memory.set_nodes(await self.backend.nodes()):
                self.live.look_again()
            await asyncio.sleep(NODES_REST * (clock() - began))

    async def _review(self) -> None:
        while True:
            await asyncio.sleep(REVIEW_S)
            self.directing.review()

    async def _tell_reasons(self) -> None:
        told: Plan | None = None
        while True:
            await asyncio.sleep(REASONS_S)
            if self.live.plan is not told:
                told = self.live.plan
                self.telling.tell_reasons(told)
