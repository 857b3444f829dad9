"""The scheduler put together: control, loop and dispatch of the server, controllers in place of a store."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import cast

import structlog

from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskRef
from rota.backends.registry import Registry
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.reports import Reports
from rota.control.transactor import Transactor
from rota.dispatch.dispatcher import Dispatcher
from rota.forecast.estimator import Estimator
from rota.loop.live.loop import LiveLoop
from rota.loop.live.node_watch import look_at_changes
from rota.loop.live.small_decisions import is_small
from rota.loop.telemetry.measuring import Measuring
from rota.loop.telemetry.metrics import Metrics
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.snapshot.state import Snapshot
from rota.stateless_scheduler.actions import Book
from rota.stateless_scheduler.arrivals import ControllerArrivals
from rota.stateless_scheduler.directing import RECORD_WITHIN_MS, Directing
from rota.stateless_scheduler.inputs import InputFiles
from rota.stateless_scheduler.nothing_kept import NothingKept
from rota.stateless_scheduler.notifying import Notifier
from rota.stateless_scheduler.pool import ActionsBackend
from rota.store.store import Store

log = structlog.get_logger()

REVIEW_S = 1.0
REASONS_S = 0.25


class Scheduler:
    def __init__(
        self,
        controllers: list[str],
        policy: Policy,
        terms: Terms,
        abandoned_after_ms: int,
        clock: Callable[[], int],
        chance: Callable[[], float] = random.random,
        record_within_ms: int = RECORD_WITHIN_MS,
        decided_here: Callable[[Snapshot], bool] = is_small,
    ) -> None:
        store = cast(Store, NothingKept())
        memory = Memory(policy)
        self.metrics = Metrics()
        self.files = InputFiles()
        self.transactor = Transactor(store, memory, Feed(store, 0), clock, chance)
        self.book = Book(controllers, clock(), abandoned_after_ms)
        self._nodes_changed = asyncio.Event()
        self.backend = ActionsBackend(
            ControllerArrivals(self.book),
            self._may_be_claimed,
            terms=terms,
            on_change=self._nodes_changed.set,
        )
        self.live = LiveLoop(
            self.transactor, policy, Estimator(None).run_times, self.metrics, decided_here=decided_here
        )
        reports = Reports(self.transactor)
        self.telling = Notifier(
            self.book,
            memory.jobs,
            reports,
            self.transactor.now_ms,
            self.backend.is_told_again,
            self._nodes_changed.set,
        )
        self.dispatcher = self.telling.dispatcher = Dispatcher(
            Registry([self.backend]), memory, self.telling.keep
        )
        self.directing = Directing(
            self.book,
            self.transactor,
            self.live,
            self.dispatcher,
            self.backend,
            self.telling,
            self.files,
            record_within_ms,
        )
        self._measuring = Measuring(self.metrics, self.transactor)
        self._tasks: list[asyncio.Task[None]] = []
        self.failed = asyncio.Event()
        """Set when a part ended. Whoever starts the whole anew loses nothing."""

    def _may_be_claimed(self, ref: TaskRef) -> bool:
        return self.book.may_be_claimed(ref, self.transactor.now_ms())

    async def start(self) -> None:
        await self.backend.open()
        for follower in (self.telling, self.live, self._measuring):
            self.transactor.follow(follower)
        await self.dispatcher.reconcile()
        for part in (
            self.transactor.run(),
            self.dispatcher.run(),
            self.live.run(),
            self.live.news.run(),
            look_at_changes(self._nodes_changed, self._look_at_nodes),
            self._review(),
            self._tell_reasons(),
        ):
            self._spawn(part)

    async def stop(self) -> None:
        """What runs goes on."""
        await self.transactor.stop()
        for task in self._tasks:
            task.cancel()
        self.live.close()
        self.directing.answering.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.backend.close()
        await self.transactor.close()

    def _spawn(self, part: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(part)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("scheduler.part_failed", why=repr(error), exc_info=error)
        self.failed.set()

    async def _look_at_nodes(self) -> None:
        if self.transactor.memory.set_nodes(await self.backend.nodes()):
            self.live.look_again()

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
