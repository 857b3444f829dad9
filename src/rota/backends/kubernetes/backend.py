"""The pods of one cluster as a backend: what is wanted of them. Implements Backend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress

from rota.backends.backend import (
    Fed,
    Health,
    InputPiece,
    KeptFile,
    LogChunk,
    LogQuery,
    TaskEnded,
    TaskRef,
    TaskReport,
    TaskStart,
)
from rota.backends.kubernetes.cluster_watch import ClusterWatch
from rota.backends.kubernetes.driver import Driver
from rota.backends.kubernetes.lanes import moves_of
from rota.backends.kubernetes.names import label_value
from rota.backends.kubernetes.objects import JobPod
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.kubernetes.record import TaskRecord
from rota.backends.kubernetes.removing import Remover
from rota.backends.kubernetes.task import PodTask, is_over
from rota.backends.kubernetes.terms import Terms
from rota.backends.process.client.task_files import TaskFiles
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import DEFAULT_ROTATION, Rotation
from rota.clock import now_ms
from rota.kube.api.errors import KubeError
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.node import Node

DEFAULT_TERMS = Terms()


class KubernetesBackend:
    def __init__(
        self,
        calls: PodCalls,
        folders: Folders,
        inputs: Folders,
        *,
        name: str = "kubernetes",
        terms: Terms = DEFAULT_TERMS,
        rotation: Rotation = DEFAULT_ROTATION,
        price_micro_per_hour: int = 0,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`folders`: where output is kept, and which nodes there were. `inputs`: where uploads are."""
        self.name = name
        self.on_change = on_change
        self._calls = calls
        self._folders = folders
        self._inputs = inputs
        self._terms = terms
        self._rotation = rotation
        self._left = TaskFiles(folders)
        self._watch = ClusterWatch(
            calls, name, folders.root / "nodes.json", terms, price_micro_per_hour, self._shown, self._changed
        )
        self._remover = Remover(calls, terms.pauses, lambda job: any(ref.job == job for ref in self._tasks))
        self._tasks: dict[TaskRef, PodTask] = {}
        self._found: dict[TaskRef, tuple[TaskRecord, JobPod]] = {}
        """Pods of before, until it is known which of them are wanted."""
        self._was_taken_up = False
        self._comes_late = False
        """The cluster hasn't answered yet since tasks were taken up: pods that nobody wants may show."""
        self._reports: asyncio.Queue[TaskReport] = asyncio.Queue()
        self._running: list[asyncio.Task[None]] = []

    # -- the cluster

    async def open(self) -> None:
        self._folders.make()
        self._running = [
            asyncio.create_task(each)
            for each in (self._watch.run(), self._remover.run(), self._look_for_silence(), self._prepare())
        ]
        await self._watch.synced(self._terms.sync_within_ms / 1000)

    async def close(self) -> None:
        driving = [task.driving for task in self._tasks.values() if task.driving is not None]
        for each in (*self._running, *driving):
            each.cancel()
        await asyncio.gather(*self._running, *driving, return_exceptions=True)
        await self._calls.client.close()

    async def nodes(self) -> Sequence[Node]:
        return self._watch.nodes()

    async def node(self, name: NodeName) -> Node | None:
        return self._watch.node(name)

    async def health(self) -> Health:
        failure = self._watch.failure
        if failure:
            return Health(False, f"the cluster doesn't answer: {failure}")
        silent = tuple((name, "its node isn't ready") for name in self._watch.unready())
        return Health(True, of_nodes=silent)

    async def _prepare(self) -> None:
        """What there is once for all jobs. Without it jobs run all the same, so nobody waits for it."""
        failures = 0
        while True:
            try:
                await self._calls.prepare()
                return
            except KubeError as error:
                failures += 1
                self._watch.note(str(error))
                await asyncio.sleep(self._terms.pauses.pause_s(failures, 0.0))

    async def _look_for_silence(self) -> None:
        while True:
            await asyncio.sleep(self._terms.look_each_ms / 1000)
            for node in self._watch.lost():
                for task in self._tasks.values():
                    if task.node == node and task.is_wanted:
                        task.lost_because = f"node {node} isn't heard of any more"
                        task.wake()

    def _changed(self) -> None:
        self.on_change()

    def _shown(self, record: TaskRecord, pod: JobPod | None) -> None:
        """A pod of ours has changed; None: it is gone."""
        task = self._tasks.get(record.ref)
        if task is not None:
            task.shows(pod, record)
        elif pod is None:
            self._found.pop(record.ref, None)
        elif not self._was_taken_up:
            self._found[record.ref] = record, pod
        elif self._comes_late:
            self._adopt(record, pod).is_to_stop = True

    # -- tasks

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        """While the cluster doesn't answer, what should be on nodes that it had may be there."""
        expected = dict(tasks)
        for ref, (record, pod) in self._found.items():
            if ref not in expected and is_over(pod):
                # Its end was settled, but it was not removed yet.
                self._remover.remove(ref, pod, tasks=record.tasks)
            elif ref not in self._tasks:
                self._adopt(record, pod)
        self._found.clear()
        if not self._was_taken_up:
            self._comes_late = not self._watch.is_synced
            for ref, node in expected.items() if self._comes_late else ():
                if ref not in self._tasks and self._watch.had(node):
                    self._tasks[ref] = PodTask(ref, node)
            self._running.append(asyncio.create_task(self._clear_up()))
        self._was_taken_up = True
        await self.stop([ref for ref, task in self._tasks.items() if ref not in expected and task.is_wanted])
        self._move_all()
        return [ref for ref in self._tasks if ref in expected]

    def _adopt(self, record: TaskRecord, pod: JobPod) -> PodTask:
        task = self._tasks[record.ref] = PodTask(record.ref, record.node)
        task.shows(pod, record)
        self._drive(task)
        return task

    async def _clear_up(self) -> None:
        """Once the cluster answers, the pods of earlier tasks are there or not; what belongs to none goes."""
        await self._watch.synced(None)
        self._comes_late = False
        for task in self._tasks.values():
            if task.driving is None and task.is_wanted:
                self._drive(task)
        self._remover.remove_orphans({label_value(ref.job) for ref in self._tasks})

    async def start(self, tasks: Sequence[TaskStart]) -> None:
        for start in tasks:
            task = self._tasks.get(start.ref)
            if task is not None:
                if task.start is None and task.is_wanted:
                    task.start = start
                    task.wake()
                continue
            task = self._tasks[start.ref] = PodTask(start.ref, start.node, start)
            self._drive(task)
        self._move_all()

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        for ref in tasks:
            task = self._tasks.get(ref)
            if task is None:
                task = self._tasks[ref] = PodTask(ref, NodeName(""))
                end = TaskEnd(EndReason.LOST, message="there is no pod of it")
                report = TaskEnded(ref, now_ms(), end)
                task.takes(report)
                self._tell(task, report)
            else:
                task.is_to_stop = True
                task.wake()

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        """Of one that runs, it holds when this returns, whatever becomes of us; while its node doesn't
        answer, it is tried again for some time."""
        known = self._tasks.get(task)
        if known is None or not known.is_wanted:
            return
        known.new_limit_ms = time_limit_ms
        known.has_its_limit.clear()
        known.wake()
        if known.started is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._terms.limit_within_ms / 1000):
                    await known.has_its_limit.wait()

    async def feed(self, task: TaskRef, piece: InputPiece) -> Fed:
        """Tasks here read no input."""
        return Fed(0, is_open=False)

    async def running(self) -> Sequence[TaskRef]:
        return [*self._tasks, *(ref for ref in self._found if ref not in self._tasks)]

    async def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        while True:
            reports = [await self._reports.get()]
            while not self._reports.empty():
                reports.append(self._reports.get_nowait())
            yield reports

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        for ref in tasks:
            found = self._found.get(ref)
            if found is not None and is_over(found[1]):
                del self._found[ref]
                self._remover.remove(ref, found[1], tasks=found[0].tasks)
            task = self._tasks.get(ref)
            if task is None or task.over is None:
                continue
            del self._tasks[ref]
            if task.driving is not None:
                task.driving.cancel()
            if task.pod is not None or task.start is not None:
                self._remover.remove(ref, task.pod, tasks=task.count, at_once=bool(task.lost_because))
        self._move_all()

    # -- what they leave

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        def may_write() -> bool:
            return any(ref.job == query.job and task.is_wanted for ref, task in self._tasks.items())

        return self._left.logs(query, may_write)

    def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        return self._left.output(job, rank, path, epoch)

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        return await self._left.sizes(jobs)

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return await self._left.outputs(job, epoch)

    async def forget(self, jobs: Sequence[JobId]) -> None:
        await self._left.forget(jobs)

    # -- lanes, drivers

    def _move_all(self) -> None:
        """Tasks on standby start where one of their lane has ended."""
        lanes: dict[tuple[str, NodeName], list[PodTask]] = {}
        for task in self._tasks.values():
            if task.lane:
                lanes.setdefault((task.lane, task.node), []).append(task)
        for tasks in lanes.values():
            moves = moves_of(tasks)
            for task, before in moves.released:
                before.has_left_room, task.is_standby = True, False
                task.room_from = before.pod_name
                task.wake()
            for task in moves.returned:
                task.is_to_stop = True
                task.wake()

    def _drive(self, task: PodTask) -> None:
        driver = Driver(
            task, self._calls, self._inputs, self._folders, self._rotation, self._terms, self._tell
        )
        task.driving = asyncio.create_task(driver.drive())

    def _tell(self, task: PodTask, report: TaskReport) -> None:
        self._reports.put_nowait(report)
        self._left.may_have_written(task.ref.job)
        if task.over is not None:
            self._move_all()
