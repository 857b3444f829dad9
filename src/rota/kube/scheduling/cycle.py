"""The scheduler's cycle on a live cluster: changes are taken in, `decide` is asked, its plan is carried out.

It is asked in a thread: however long it takes, the lease is renewed and changes come in. What these leave of
its plan is carried out. Deciding doesn't wait for what was decided before: pods are assumed on their nodes
while they are bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from functools import partial
from time import perf_counter
from typing import Any

import structlog
from msgspec.structs import replace

from rota.clock import now_ms
from rota.engine.decide import decide
from rota.engine.plugin import Disruptions
from rota.kube.mirror.gangs import gang_id_of
from rota.kube.mirror.mirror import NO_DEVICES, Mirror
from rota.kube.mirror.reasons import Misread
from rota.kube.scheduling.binding import Binder, Placing
from rota.kube.scheduling.event_recorder import EventRecorder
from rota.kube.scheduling.fault_events import publishing
from rota.kube.scheduling.pod_figures import PodFigures
from rota.kube.scheduling.recheck import StillRoom
from rota.kube.scheduling.rules import rules_of
from rota.kube.scheduling.usage import PodUsage
from rota.kube.scheduling.words import held_text, misread_text, refused_text, waiting_texts
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.hosting.plugin_news import PluginNews
from rota.loop.live.side_threads import Aside
from rota.loop.live.small_decisions import has_plugins
from rota.loop.telemetry.metrics import CycleResult, Metrics, measure_cycle
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.plan import Binding, EvictionCause, Plan
from rota.model.policy import Policy
from rota.model.verdict import Verdict
from rota.snapshot.state import Snapshot

GATHERED_S = 0.01
"""After something has changed: what comes right behind it is decided about in the same cycle."""
LONGEST_SLEEP_S = 30.0
AFTER_FAILURE_S = 1.0
UNDONE_AFTER_S = 30.0
"""A gang that is bound in part is completed within this time, or what is bound of it is evicted."""
_BY_US = frozenset({EvictionCause.PREEMPTED, EvictionCause.RECLAIMED})

log = structlog.get_logger()


class Scheduling:
    """While it leads."""

    def __init__(
        self,
        mirror: Mirror,
        binder: Binder,
        recorder: EventRecorder,
        policy: Policy,
        metrics: Metrics,
        *,
        undone_after_s: float = UNDONE_AFTER_S,
        clock_ms: Callable[[], int] = now_ms,
        figures: PodFigures | None = None,
        usage: PodUsage | None = None,
        host: PluginHost | None = None,
    ) -> None:
        """`host`: has the plugins; None: those that are installed."""
        self.policy = policy
        self.cycles = 0
        self._mirror = mirror
        self._binder = binder
        self._decisions = binder.decisions
        self._recorder = recorder
        self._metrics = metrics
        self._undone_after_s = undone_after_s
        self._clock_ms = clock_ms
        self._figures = figures
        self._usage = usage
        self._decided_s = 0.0
        """How long the latest decision took."""
        self._host = PluginHost() if host is None else host
        self._news = PluginNews(
            self._host, lambda: self.policy, clock_ms, metrics, publishing(mirror, recorder)
        )
        binder.on_bound = self._bound
        self._aside = Aside("rota-decide")
        self._wake = asyncio.Event()
        self._carrying_out: set[asyncio.Task[None]] = set()
        self._torn_since_s: dict[JobId, float] = {}
        self._misreads: dict[TaskName, Misread] = {}
        """What was told of them."""

    def look_again(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled; what is being carried out is cancelled as well."""
        self._wake.set()
        self._start(self._news.run())
        sleep_s = 0.0
        try:
            while True:
                try:
                    async with asyncio.timeout(sleep_s):
                        await self._wake.wait()
                        await asyncio.sleep(GATHERED_S)
                except TimeoutError:
                    pass
                self._wake.clear()
                began_s = perf_counter()
                sleep_s = await self._cycle_safely()
                # Whoever else needs the event loop gets its turn.
                await asyncio.sleep(min(1.0, perf_counter() - began_s))
        finally:
            self._aside.shutdown()
            self._aside = Aside("rota-decide")
            for task in self._carrying_out:
                task.cancel()
            await asyncio.gather(*self._carrying_out, return_exceptions=True)

    async def _cycle_safely(self) -> float:
        """One that fails holds up nobody who comes later."""
        began_s = perf_counter()
        try:
            return await self._cycle()
        except Exception:
            log.exception("cycle.failed")
            self._metrics.observe_cycle(perf_counter() - began_s, CycleResult.ERROR)
            return AFTER_FAILURE_S

    async def _cycle(self) -> float:
        """Answers after how many seconds to look again, whatever happens."""
        now_s, began_s = asyncio.get_running_loop().time(), perf_counter()
        settles_s = self._mirror.settle(now_s)
        self._tell_misreads()
        undo_s = self._undo_torn(now_s)
        self._tell_held()
        if self._mirror.state.waiting_count:
            plan = await self._decide_and_carry_out()
            self._tell_waiting(plan)
            self._measure(plan, perf_counter() - began_s)
        self._decisions.end_cycle()
        self.cycles += 1
        return min(one for one in (settles_s, undo_s, LONGEST_SLEEP_S) if one is not None)

    async def decide(self) -> tuple[Plan, Snapshot]:
        """With what it was decided on."""
        if self._usage is not None:
            self._usage.show(self._mirror.state)
        snapshot = self._mirror.state.snapshot()
        decided = partial(self._decided, snapshot, self._clock_ms(), self._mirror.budgets.now())
        began_s = perf_counter()
        plan = await asyncio.get_running_loop().run_in_executor(self._aside, decided)
        self._decided_s = perf_counter() - began_s
        if self._figures is not None:
            self._figures.decided(plan, self._decided_s)
        return plan, snapshot

    def _decided(self, snapshot: Snapshot, now_ms: int, disruptions: Disruptions | None) -> Plan:
        with rules_of(self.policy, self._host, disruptions) as plugins:
            return decide(snapshot, self.policy, now_ms, plugins)

    async def _decide_and_carry_out(self) -> Plan:
        """Answers what came of it."""
        plan, snapshot = await self.decide()
        self._news.failed(plan.faults)
        # What has come meanwhile: pods that others have bound take room, too.
        self._mirror.settle(asyncio.get_running_loop().time())
        self._carry_out(plan, snapshot)
        state = self._mirror.state
        waiting = (replace(one, jobs=tuple(filter(state.has_job, one.jobs))) for one in plan.waiting)
        return replace(plan, waiting=tuple(waiting))

    # -- carrying out

    def _carry_out(self, plan: Plan, snapshot: Snapshot) -> None:
        still = StillRoom(self._mirror, snapshot, plan)
        for placing in self._placings(plan, snapshot):
            if still.is_there_for(placing) and self._mirror.assume(placing.nodes, placing.devices):
                self._start(self._binder.carry_out(placing))
            else:
                self.look_again()
        if self._usage is not None:
            # Who begins and ends before the next cycle has used something, too.
            self._mirror.settle(asyncio.get_running_loop().time())

    def _placings(self, plan: Plan, snapshot: Snapshot) -> Iterator[Placing]:
        def name_of(job_id: JobId, rank: int) -> TaskName:
            return snapshot.jobs[job_id].job.task_name(rank)

        victims: dict[JobId, list[TaskName]] = {}
        for eviction in plan.evictions:
            if eviction.cause not in _BY_US:
                continue
            name = name_of(eviction.job, eviction.rank)
            pod = self._mirror.pod(name)
            if pod is not None and not pod.spec.node_name and self._binder.withdraw(eviction.job):
                continue
            victims.setdefault(eviction.preemptor, []).append(name)
        nodes: dict[JobId, dict[TaskName, NodeName]] = {}
        devices: dict[TaskName, tuple[int, ...]] = {}
        for binding in plan.bindings:
            name = name_of(binding.job, binding.rank)
            nodes.setdefault(binding.job, {})[name] = binding.node
            if binding.gpu_devices:
                devices[name] = binding.gpu_devices
        scored = {one.job: one for one in plan.scored}
        why = {job_id: one.verdict for one in plan.displacing for job_id in one.jobs}
        for job_id, placed in nodes.items():
            yield Placing(
                job_id,
                placed,
                tuple(victims.get(job_id, ())),
                self._refused_texts(why[job_id], placed) if job_id in why else {},
                scored.get(job_id),
                self._decided_s,
                {name: devices[name] for name in placed if name in devices} if devices else NO_DEVICES,
            )

    def _refused_texts(self, verdict: Verdict, names: Iterable[TaskName]) -> dict[TaskName, str]:
        tasks = (self._mirror.task(name) for name in names)
        nodes = self._mirror.node_count
        return {task.name: refused_text(verdict, task, nodes) for task in tasks if task is not None}

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._carrying_out.add(task)
        task.add_done_callback(self._carried_out)

    def _carried_out(self, task: asyncio.Task[None]) -> None:
        self._carrying_out.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("kube.placement_crashed", exc_info=error)

    def _undo_torn(self, now_s: float) -> float | None:
        """Answers after how many seconds the next gang is to be undone, if it isn't complete by then."""
        torn = self._mirror.torn
        self._torn_since_s = {gang: self._torn_since_s.get(gang, now_s) for gang in torn}
        for gang, since_s in list(self._torn_since_s.items()):
            if now_s >= since_s + self._undone_after_s:
                self._start(self._binder.undo(gang, torn[gang]))
                # If it isn't evicted by then, a budget held it: it is tried again.
                self._torn_since_s[gang] = now_s
        ends = [since_s + self._undone_after_s - now_s for since_s in self._torn_since_s.values()]
        return max(0.0, min(ends)) if ends else None

    # -- plugins

    def _bound(self, job_id: JobId, nodes: Mapping[TaskName, NodeName]) -> None:
        """Plugins are told of what the API server has, and of nothing before."""
        if not has_plugins(self.policy) or not self._mirror.state.has_job(job_id):
            return
        job = self._mirror.state.record(job_id).job
        placed = ((rank, nodes.get(job.task_name(rank))) for rank in range(job.template.task_count))
        bindings = [Binding(job_id, rank, node) for rank, node in placed if node is not None]
        self._news.committed(lambda: (job, bindings))

    # -- telling

    def _tell_held(self) -> None:
        nodes = self._mirror.node_count
        if self._figures is not None:
            self._figures.held(self._mirror.holds)
        for name, hold in self._mirror.holds.items():
            pod = self._mirror.task(name)
            may_preempt = pod is None or pod.template.may_preempt is not False
            text = held_text(hold, nodes, may_preempt=may_preempt)
            self._recorder.waits(name, text)
            self._decisions.waits(gang_id_of(pod) if pod is not None and pod.gang else JobId(name), text)

    def _tell_misreads(self) -> None:
        found = self._mirror.misreads
        for name, misread in found.items():
            pod = self._mirror.pod(name)
            if self._misreads.get(name) != misread and pod is not None:
                self._recorder.event(pod, "Warning", "BadGangAnnotation", "Scheduling", misread_text(misread))
        self._misreads = dict(found)

    def _tell_waiting(self, plan: Plan) -> None:
        refused = []
        for job, name, text in waiting_texts(plan, self._mirror):
            self._recorder.waits(name, text)
            self._decisions.waits(job, text)
            refused.append(name)
        if self._figures is not None:
            self._figures.refused(refused, self._decided_s)

    def _measure(self, plan: Plan, seconds: float) -> None:
        measure_cycle(self._metrics, seconds, plan, scheduled=len(plan.bindings))
        self._metrics.set_pending({"default": self._mirror.state.waiting_count})
