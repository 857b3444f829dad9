"""A live cluster put together: store, control, loop, dispatch and backends, started and stopped in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor

import structlog

from rota.backends.backend import Backend, BackendUnavailable, TaskRef
from rota.backends.registry import Registry
from rota.control.access import SYSTEM
from rota.control.draft import Draft
from rota.control.enrolment import Enrolment
from rota.control.errors import Unavailable
from rota.control.feed import Feed
from rota.control.memory import Memory
from rota.control.reports import Reports
from rota.control.transactor import Transactor
from rota.control.vault import Vault
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.instructions import Instruction
from rota.lifecycle.state import EndReason
from rota.loop.desk.audit import AuditTrail
from rota.loop.desk.desks import live_desks
from rota.loop.desk.question_pool import DEFAULT_LIMITS, QuestionLimits
from rota.loop.live.forecaster import Forecaster, own_process
from rota.loop.live.history import HistoryKeeper, Retention, Uploads
from rota.loop.live.loop import LiveLoop
from rota.loop.live.node_watch import look_at_changes
from rota.loop.live.small_decisions import is_small
from rota.loop.telemetry.measuring import Measuring
from rota.loop.telemetry.metrics import Metrics
from rota.model.policy import Policy
from rota.snapshot.state import Snapshot
from rota.store.store import Store
from rota.store.writing.batch import Batch
from rota.trust.sealing import Sealer, temporary_sealer

log = structlog.get_logger()

RETRY_S = 1.0
KEEP_ALL = Retention()


class Runtime:
    def __init__(  # noqa: PLR0913 – the parts of a cluster, put together here
        self,
        store: Store,
        policy: Policy,
        backends: Sequence[Backend],
        clock: Callable[[], int],
        chance: Callable[[], float],
        put_file: Callable[[str, AsyncIterator[bytes], str], Awaitable[bool]],
        metrics: Metrics | None = None,
        retention: Retention = KEEP_ALL,
        uploads: Uploads | None = None,
        make_pool: Callable[[], Executor] = own_process,
        enrol: Callable[[Transactor], Enrolment] | None = None,
        question_limits: QuestionLimits = DEFAULT_LIMITS,
        decided_here: Callable[[Snapshot], bool] = is_small,
        sealer: Callable[[], Sealer] = temporary_sealer,
        secret_sources: Mapping[str, str] | None = None,
        epoch: int = 0,
    ) -> None:
        """`make_pool`: where the forecaster works, so that the loop doesn't wait for it. `enrol`: what
        decides on agents; None: there are none. `sealer`, `secret_sources`: as of `Vault`. `epoch`: as of
        `lifecycle.fences`."""
        registry = Registry(backends)
        loaded = store.load()
        self.memory = Memory(policy, epoch)
        self.memory.load(loaded, clock())
        self.metrics = metrics or Metrics()
        self.transactor = Transactor(store, self.memory, Feed(store, loaded.last_seq), clock, chance)
        self.forecaster = Forecaster(self.transactor, policy, loaded.learnt, make_pool)
        self.live = LiveLoop(
            self.transactor,
            policy,
            self.forecaster.run_times,
            self.metrics,
            decided_here=decided_here,
        )
        self._reports = Reports(self.transactor)
        vault = Vault(self.memory, sealer, secret_sources)
        self.dispatcher = Dispatcher(registry, self.memory, self._reports.keep, vault.reveal)
        self._enrolment = None if enrol is None else enrol(self.transactor)
        self.audit = AuditTrail()
        self.desks = live_desks(
            self.transactor,
            self.live,
            self.forecaster,
            registry,
            put_file,
            vault,
            self._enrolment,
            question_limits,
        )
        self._history = HistoryKeeper(self.transactor, registry, retention, uploads)
        self._measuring = Measuring(self.metrics, self.transactor)
        self._unreadable = loaded.unreadable
        self._backends = registry
        self._tasks: list[asyncio.Task[None]] = []
        self.nodes_changed = asyncio.Event()
        """Set to look at the nodes before the next look is due."""
        self.failed = asyncio.Event()
        """Set when a vital part has ended. A restart of the whole process loses nothing."""

    async def start(self) -> None:
        for backend in self._backends:
            await backend.open()
        await self._look_at_nodes()
        for follower in (self, self.forecaster, self.live, self._measuring):
            self.transactor.follow(follower)
        if self._enrolment is not None:
            self.transactor.follow(self._enrolment)
        self._spawn(self.transactor.run(), is_vital=True)
        await self._tell_unreadable()
        lost = await self.dispatcher.reconcile()
        self._spawn(self.dispatcher.run(), is_vital=True)
        if lost:
            await self._reports.lose(lost, "it was gone when the server restarted")
        self.live.remember()
        for coroutine in (
            self.live.run(),
            self.forecaster.run(),
            look_at_changes(self.nodes_changed, self._try_to_look_at_nodes),
            self._watch_reloads(),
            self._history.run(),
            self.audit.run(self.transactor),
        ):
            self._spawn(coroutine)
        self.desks.status.is_ready = True

    async def _tell_unreadable(self) -> None:
        """Jobs that can't be read are left as they are, for an operator to look at. All others go on."""

        def command(draft: Draft) -> None:
            for job_id, why in self._unreadable:
                log.error("job.unreadable", job=job_id, why=why)
                draft.note("job.Unreadable", job_id, SYSTEM, {"why": why})

        if self._unreadable:
            await self.transactor.do(command)

    async def stop(self) -> None:
        """Running tasks go on, and are found again after the next start."""
        self.desks.status.is_ready = False
        try:
            async with asyncio.timeout(5):
                await self.forecaster.save()
                await self.audit.keep(self.transactor)
        except (Unavailable, TimeoutError):
            log.warning("forecast.unsaved")
        await self.transactor.stop()
        await asyncio.gather(*self._tasks[:1], return_exceptions=True)
        for task in self._tasks[1:]:
            task.cancel()
        self.live.close()
        self.desks.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for backend in self._backends:
            await backend.close()
        await self.transactor.close()

    async def set_policy(self, policy: Policy, note: Callable[[Draft], None], seconds: float) -> None:
        """Between two decisions. `note` is committed first: if it can't be, nothing changes. Unavailable: a
        decision takes longer."""
        async with self.live.own_turn(seconds):
            await self.transactor.do(note)
            self.memory.set_policy(policy)
            self.desks.allowing.set_policy(policy)
            self.forecaster.set_policy(policy)
            self.live.set_policy(policy)

    def set_retention(self, retention: Retention) -> None:
        self._history.set_retention(retention)

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        if self.transactor.reloaded.is_set():
            self.dispatcher.await_reconciling()
        for attempt in batch.attempts:
            if attempt.ended_ms is not None:
                self.dispatcher.settle([TaskRef(attempt.job, attempt.rank, attempt.fence)], attempt.node)
            if attempt.end is not None and attempt.end.reason is EndReason.LOST:
                # Others would be sent there, again and again, until it is seen that it is gone.
                self.nodes_changed.set()
        self.dispatcher.carry_out(instructions)

    def _spawn(self, coroutine: Coroutine[object, object, None], is_vital: bool = False) -> None:
        task = asyncio.create_task(coroutine)
        task.add_done_callback(_tell_failure)
        if is_vital:
            task.add_done_callback(lambda _: self.failed.set())
        self._tasks.append(task)

    async def _watch_reloads(self) -> None:
        while True:
            await self.transactor.reloaded.wait()
            self.transactor.reloaded.clear()
            self.memory.cluster.set_run_times(self.forecaster.run_times)
            try:
                lost = await self.dispatcher.reconcile()
            except (OSError, BackendUnavailable) as error:
                log.warning("tasks.unreadable", why=str(error))
                await asyncio.sleep(RETRY_S)
                self.transactor.reloaded.set()
                continue
            if lost:
                await self._reports.lose(lost, "it is unknown how it ended")
            self.live.remember()

    async def _try_to_look_at_nodes(self) -> None:
        try:
            await self._look_at_nodes()
        except (OSError, BackendUnavailable) as error:
            log.warning("nodes.unreadable", why=str(error))

    async def _look_at_nodes(self) -> None:
        nodes = [node for backend in self._backends for node in await backend.nodes()]
        if self.memory.set_nodes(nodes):
            self.live.look_again()


def _tell_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("server.part_failed", why=repr(error), exc_info=error)
