"""Carries instructions out on the backends that own the nodes, and brings back what came of them.

instructions ─► held back while the node is being vacated ─► start, stop, change_limit ─► backend
control ◄── reports, retried until they are kept ◄── settled only then ◄────────────────────┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

import structlog
from msgspec.structs import replace

from rota.backends.backend import (
    Backend,
    BackendUnavailable,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskReturned,
    TaskStart,
)
from rota.backends.registry import Registry
from rota.dispatch.environment import environment_of, hosts_of
from rota.dispatch.secrets import NoSecret, Reveal, no_secrets
from rota.dispatch.slurm import with_output_files
from rota.lifecycle.instructions import ChangeLimit, Instruction, StartTask, StopTask
from rota.lifecycle.state import EndReason, JobState, LiveTask, TaskEnd, TaskPhase
from rota.model.containers import RUNS_IMAGES
from rota.model.ids import JobId, NodeName
from rota.model.node import Node
from rota.model.resources import Resources
from rota.model.task import MEMORY, TaskSpec

log = structlog.get_logger()

RETRY_S = 1.0
FAR_FUTURE_MS = 2**62
"""A report isn't believed to be later than the moment it comes in, so this stands for that moment."""


class Jobs(Protocol):
    """What the dispatcher has to know of jobs and nodes."""

    jobs: dict[JobId, JobState]
    vacating: dict[NodeName, set[TaskRef]]

    def node(self, name: NodeName) -> Node | None: ...


Keep = Callable[[Sequence[TaskReport]], Awaitable[Sequence[TaskReport]]]
"""Records reports; returns when they are kept, or refused for good, with those that were refused."""


class Dispatcher:
    def __init__(self, backends: Registry, jobs: Jobs, keep: Keep, reveal: Reveal = no_secrets) -> None:
        self._backends = backends
        self._reveal = reveal
        self._jobs = jobs
        self._keep = keep
        self._held: dict[NodeName, list[StartTask]] = {}
        self._to_do: dict[str, list[Instruction]] = {}
        self._unsent: list[TaskEnded] = []
        """Ends of tasks that were told to stop before any backend heard of them."""
        self._settled: dict[str, list[TaskRef]] = {}
        self._taken_up: set[TaskRef] = set()
        """Tasks that backends may have from before, even if their starts are held back: to be sent again."""
        self._homes: dict[NodeName, str] = {}
        """Backends by node, also of nodes that are gone, or aren't back yet."""
        self._is_reconciled = asyncio.Event()
        """Nothing is sent before: an end that backends weren't told of would leave its room twice."""
        self._wake = asyncio.Event()

    def await_reconciling(self) -> None:
        """All that is known of jobs was read anew: what follows from that has to be sent first."""
        self._is_reconciled.clear()

    def expect(self, node: NodeName, backend: str) -> None:
        """A node that isn't here yet will be that backend's."""
        self._homes[node] = backend

    def settle(self, ended: Iterable[TaskRef], node: NodeName) -> None:
        """Their ends are kept. Backends are told before any start that follows: what isn't settled leaves
        its room to the next of its lane on standby."""
        backend = self._backend_of(node)
        if backend:
            self._settled.setdefault(backend, []).extend(ended)
            self._wake.set()

    def carry_out(self, instructions: Iterable[Instruction]) -> None:
        """In order; must not wait, so it only notes them."""
        for instruction in instructions:
            if isinstance(instruction, StartTask) and self._jobs.vacating.get(instruction.node):
                self._held.setdefault(instruction.node, []).append(instruction)
            elif not (isinstance(instruction, StopTask) and self._never_sent(instruction)):
                self._note(instruction)
        for node in [node for node in self._held if not self._jobs.vacating.get(node)]:
            for start in self._held.pop(node):
                self._note(start)

    def _never_sent(self, stop: StopTask) -> bool:
        """Whether it is held back: then its backend knows nothing of it, and it has stopped already."""
        held = self._held.get(stop.node, [])
        starts = [start for start in held if (start.job, start.fence) == (stop.job, stop.fence)]
        for start in starts:
            held.remove(start)
        ref = TaskRef(stop.job, stop.rank, stop.fence)
        if not starts or ref in self._taken_up:
            return False
        self._unsent.append(TaskEnded(ref, FAR_FUTURE_MS, TaskEnd(EndReason.STOPPED)))
        self._wake.set()
        return True

    def _note(self, instruction: Instruction) -> None:
        assert isinstance(instruction, StartTask | StopTask | ChangeLimit)
        name = self._backend_of(instruction.node)
        if not name:
            # Its node is gone, and its backend reports what becomes of its tasks.
            log.warning("backend.missing", node=instruction.node, job=instruction.job)
            return
        self._to_do.setdefault(name, []).append(instruction)
        self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send_all())
            for backend in self._backends:
                group.create_task(self._receive(backend))

    async def _send_all(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            unsent, self._unsent = self._unsent, []
            if unsent:
                await self._keep(unsent)
            await self._is_reconciled.wait()
            to_do, self._to_do = self._to_do, {}
            settled, self._settled = self._settled, {}
            for name in dict.fromkeys((*settled, *to_do)):
                await self._send(self._backends.get(name), to_do.get(name, []), settled.get(name, []))

    async def _send(
        self, backend: Backend, instructions: Sequence[Instruction], settled: Sequence[TaskRef]
    ) -> None:
        starts = [await self._with_secrets(start) for start in map(self._start_of, instructions) if start]
        stops = [TaskRef(one.job, one.rank, one.fence) for one in instructions if isinstance(one, StopTask)]
        try:
            if settled:
                await backend.settle(settled)
            if any(starts):
                await backend.start([start for start in starts if start is not None])
            if stops:
                await backend.stop(stops)
            for one in instructions:
                if isinstance(one, ChangeLimit):
                    await backend.change_limit(TaskRef(one.job, one.rank, one.fence), one.time_limit_ms)
        except (OSError, BackendUnavailable) as error:
            # They are sent anew when the backend is back: all calls may come twice.
            log.warning("backend.unreachable", backend=backend.name, why=str(error))
            await asyncio.sleep(RETRY_S)
            self._to_do[backend.name] = [*instructions, *self._to_do.get(backend.name, ())]
            self._settled[backend.name] = [*settled, *self._settled.get(backend.name, ())]
            self._wake.set()

    def _start_of(self, instruction: Instruction) -> TaskStart | None:
        """None: it is no start, or of a task that is to stop meanwhile or has ended."""
        if not isinstance(instruction, StartTask):
            return None
        state = self._jobs.jobs.get(instruction.job)
        task = None if state is None else state.task(instruction.rank)
        if state is None or task is None or task.fence != instruction.fence:
            return None
        return None if task.phase is TaskPhase.STOPPING else start_of(state, task)

    async def _with_secrets(self, start: TaskStart) -> TaskStart | None:
        """None: a secret is missing, or there are no containers: it ends before any backend hears of it."""
        wanted = start.run.secrets
        node = self._jobs.node(start.node) if start.run.image else None
        if node is not None and RUNS_IMAGES not in node.spec.labels:
            why = f"node {start.node} runs no containers, and the job names an image"
            end = TaskEnd(EndReason.NOT_STARTED, message=f"{why}: run it without --image, or elsewhere")
            self._unsent.append(TaskEnded(start.ref, FAR_FUTURE_MS, end))
            self._wake.set()
            return None
        if not wanted or start.ref in self._taken_up:
            return start
        state = self._jobs.jobs.get(start.ref.job)
        try:
            project = "" if state is None else state.spec.template.project
            return replace(start, secrets=await asyncio.to_thread(self._reveal, project, wanted))
        except NoSecret as error:
            end = TaskEnd(EndReason.NOT_STARTED, message=str(error))
            self._unsent.append(TaskEnded(start.ref, FAR_FUTURE_MS, end))
            self._wake.set()
            return None

    async def _receive(self, backend: Backend) -> None:
        while True:
            try:
                async for reports in backend.reports():
                    # Those that are kept are settled on their way; the others are of no use to anybody.
                    refused = await self._keep(reports)
                    over = dict.fromkeys(
                        one.ref for one in refused if isinstance(one, TaskEnded | TaskReturned)
                    )
                    if over:
                        await backend.settle(list(over))
                    refs = dict.fromkeys(one.ref for one in refused)
                    unwanted = [ref for ref in refs if ref not in over and self._live(ref) is None]
                    if unwanted:
                        await backend.stop(unwanted)
            except (OSError, BackendUnavailable) as error:
                log.warning("backend.unreachable", backend=backend.name, why=str(error))
            await asyncio.sleep(RETRY_S)

    # -- after a restart

    async def reconcile(self) -> list[TaskRef]:
        """Starts what was to start and stops what nobody wants; tells which tasks should run and are gone."""
        self._is_reconciled.clear()
        taken = self._taken_up = await self._take_up()
        lost: list[TaskRef] = []
        for state in self._jobs.jobs.values():
            for task in state.live:
                ref = TaskRef(state.id, task.rank, task.fence)
                is_to_start = task.phase in (TaskPhase.BOUND, TaskPhase.STANDBY)
                if ref not in taken and not (is_to_start and self._backend_of(task.node)):
                    lost.append(ref)
                elif is_to_start:
                    standby = task.phase is TaskPhase.STANDBY
                    self.carry_out(
                        [StartTask(state.id, task.rank, task.fence, task.node, task.gpu_devices, standby)]
                    )
                elif task.phase is TaskPhase.STOPPING:
                    self.carry_out([StopTask(state.id, task.rank, task.fence, task.node)])
        self._is_reconciled.set()
        return lost

    async def _take_up(self) -> set[TaskRef]:
        """Each backend is asked about the tasks of its nodes. Whose the nodes are that nobody shows at the
        moment is found out: those who have nodes to show know best what they have, and are asked first."""
        by_backend: dict[str, list[tuple[TaskRef, NodeName]]] = {}
        for state in self._jobs.jobs.values():
            for task in state.live:
                ref = TaskRef(state.id, task.rank, task.fence)
                by_backend.setdefault(self._backend_of(task.node), []).append((ref, task.node))
        unknown = by_backend.get("", [])
        taken: set[TaskRef] = set()
        for backend in sorted(self._backends, key=lambda each: each.name not in by_backend):
            over = [ref for ref in await backend.running() if self._live(ref) is None]
            if over:
                await backend.settle(over)
            taken.update(await backend.take_up([*by_backend.get(backend.name, ()), *unknown]))
            self._homes.update((node, backend.name) for ref, node in unknown if ref in taken)
            unknown = [(ref, node) for ref, node in unknown if ref not in taken]
        return taken

    def _backend_of(self, name: NodeName) -> str:
        """Empty: nobody's."""
        node = self._jobs.node(name)
        if node is not None:
            self._homes[name] = node.spec.backend
        backend = self._homes.get(name, "")
        return backend if backend in self._backends else ""

    def _live(self, ref: TaskRef) -> LiveTask | None:
        state = self._jobs.jobs.get(ref.job)
        task = None if state is None else state.task(ref.rank)
        return task if task is not None and task.fence == ref.fence else None


def start_of(state: JobState, task: LiveTask) -> TaskStart:
    template = state.spec.template
    spec = template.spec_of(task.rank)
    return TaskStart(
        ref=TaskRef(state.id, task.rank, task.fence),
        node=task.node,
        run=with_output_files(state, task),
        environment=environment_of(state, task),
        hosts=hosts_of(state),
        limits=limits_of(spec),
        requests=spec.requests,
        gpus=0 if spec.gpu.is_fraction else spec.gpu.count,
        cpu_share_milli=spec.requests.cpu_milli + spec.overhead.cpu_milli,
        log_bytes=state.spec.log_bytes,
        time_limit_ms=state.time_limit_ms,
        end_before_ms=state.spec.deadline_ms,
        lane=lane_of(state, task),
        standby=task.phase is TaskPhase.STANDBY,
        user=template.user,
        project=template.project,
    )


def limits_of(spec: TaskSpec) -> Resources:
    """Memory and storage that were asked for are all that there is: nodes are filled by what jobs ask for,
    and what one takes beyond that it takes from another. What a sandbox takes on top is within its group."""
    limits, requests, overhead = spec.limits, spec.requests, spec.overhead
    memory_bytes = limits.memory_bytes or (0 if MEMORY in spec.unlimited else requests.memory_bytes)
    storage_bytes = limits.storage_bytes or (0 if "storage" in spec.unlimited else requests.storage_bytes)
    return replace(
        limits,
        cpu_milli=limits.cpu_milli and limits.cpu_milli + overhead.cpu_milli,
        memory_bytes=memory_bytes and memory_bytes + overhead.memory_bytes,
        storage_bytes=storage_bytes and storage_bytes + overhead.storage_bytes,
    )


def lane_of(state: JobState, task: LiveTask) -> str:
    """Tasks of one array, on one kind of seat."""
    return state.id.partition(".")[0] if state.spec.array_index is not None else ""
