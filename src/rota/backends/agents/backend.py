"""All machines that run agents, as one backend: what is wanted of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import suppress

from rota.backends.agents.agent import Agent
from rota.backends.agents.arrivals import Arrivals, Arriving
from rota.backends.agents.pool import AgentPool
from rota.backends.agents.task import AgentTask
from rota.backends.agents.terms import Terms
from rota.backends.backend import (
    Fed,
    Health,
    InputPiece,
    KeptFile,
    LogChunk,
    LogQuery,
    TaskRef,
    TaskReport,
    TaskStart,
)
from rota.clock import now_ms, since_boot_ms
from rota.model.ids import JobId, NodeName
from rota.model.node import Node

DEFAULT_TERMS = Terms()


class AgentsBackend(AgentPool):
    """Implements Backend."""

    def __init__(
        self,
        arrivals: Arrivals,
        *,
        name: str = "agents",
        terms: Terms = DEFAULT_TERMS,
        reserved: frozenset[NodeName] = frozenset(),
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`arrivals`: where goes what tasks write and leave."""
        super().__init__(name, terms, reserved, on_change)
        self._arrivals = arrivals
        self._was_taken_up = False
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._arrivals.open()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        for agent in self._agents.values():
            agent.close_session()

    async def nodes(self) -> Sequence[Node]:
        silent_ms = since_boot_ms() - self.terms.silent_after_ms
        nodes = (agent.node_now(is_ready=agent.heard_ms > silent_ms) for agent in self._agents.values())
        return [node for node in nodes if node is not None]

    async def node(self, name: NodeName) -> Node | None:
        agent = self._agents.get(name)
        return None if agent is None else agent.node_now(is_ready=self._is_heard(agent))

    async def take_up(self, tasks: Sequence[tuple[TaskRef, NodeName]]) -> Sequence[TaskRef]:
        """Those on nodes that aren't here are waited for, as any agent is that isn't heard of: the first time
        only, since later all that agents have is known."""
        expected = {ref for ref, _ in tasks}
        for ref, node in tasks:
            if ref not in self._tasks and not self._was_taken_up:
                agent = self._agents.setdefault(node, Agent(node, since_boot_ms()))
                if agent.node is None:
                    self._add(agent, AgentTask(ref, node))
        self._was_taken_up = True
        await self.stop([ref for ref, task in self._tasks.items() if ref not in expected and task.is_wanted])
        return [ref for ref in self._tasks if ref in expected]

    async def start(self, tasks: Sequence[TaskStart]) -> None:
        offers: dict[NodeName, list[AgentTask]] = {}
        for start in tasks:
            known = self._tasks.get(start.ref)
            if known is not None and (known.start is not None or not known.is_wanted):
                continue
            agent = self._agents.get(start.node)
            # One of a time before this server may have run long ago: it keeps its times.
            task = known or AgentTask(start.ref, start.node, now_ms())
            task.start = start
            if agent is None:
                self._lose(task, "there is no agent of this name any more")
                continue
            self._add(agent, task)
            offers.setdefault(agent.name, []).append(task)
        for name, offered in offers.items():
            if (session := self._agents[name].session) is not None:
                session.offer(offered)

    async def stop(self, tasks: Sequence[TaskRef]) -> None:
        for ref in tasks:
            task = self._tasks.get(ref)
            if task is None:
                self._lose(AgentTask(ref, NodeName("")), "no agent knows anything of it")
            else:
                task.is_to_stop = True
                task.wake()

    async def change_limit(self, task: TaskRef, time_limit_ms: int) -> None:
        known = self._tasks.get(task)
        if known is not None:
            known.new_limit_ms = time_limit_ms
            known.wake()

    async def feed(self, task: TaskRef, piece: InputPiece) -> Fed:
        known = self._tasks.get(task)
        if known is None:
            return Fed(0, is_open=False)
        answer = known.input.offer(piece)
        known.wake()
        return await answer

    async def running(self) -> Sequence[TaskRef]:
        return list(self._tasks)

    async def reports(self) -> AsyncIterator[Sequence[TaskReport]]:
        while True:
            reports = [await self._reports.get()]
            while not self._reports.empty():
                reports.append(self._reports.get_nowait())
            yield reports

    async def settle(self, tasks: Sequence[TaskRef]) -> None:
        by_agent: dict[NodeName, list[TaskRef]] = {}
        for ref in tasks:
            task = self._tasks.get(ref)
            if task is None or task.over is None:
                continue
            del self._tasks[ref]
            task.settled.set()
            task.wake()
            agent = self._agents.get(task.node)
            if agent is not None and agent.tasks.pop(ref, None) is not None:
                by_agent.setdefault(agent.name, []).append(ref)
        for name, refs in by_agent.items():
            self._agents[name].settles(refs)

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        def may_write() -> bool:
            return any(ref.job == query.job and task.is_wanted for ref, task in self._tasks.items())

        return self._arrivals.logs(query, may_write)

    def output(self, job: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        return self._arrivals.output(job, rank, path, epoch)

    async def sizes(self, jobs: Sequence[JobId]) -> Sequence[int]:
        return await self._arrivals.sizes(jobs)

    async def outputs(self, job: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return await self._arrivals.outputs(job, epoch)

    async def forget(self, jobs: Sequence[JobId]) -> None:
        await self._arrivals.forget(jobs)

    async def health(self) -> Health:
        """Agents come and go: that one is away says nothing about the others."""
        of_nodes = []
        for agent in self._agents.values():
            messages = [agent.message, agent.clock.message]
            if not self._is_heard(agent):
                messages.append(f"not heard of for {(since_boot_ms() - agent.heard_ms) // 1000} s")
            if any(messages):
                of_nodes.append((agent.name, "; ".join(filter(None, messages))))
        return Health(True, of_nodes=tuple(of_nodes))

    async def arriving(self, task: AgentTask) -> Arriving:
        return await self._arrivals.arriving(task.ref, None if task.start is None else task.start.log_bytes)

    async def keep_file(
        self, task: AgentTask, path: str, chunks: AsyncIterable[bytes], *, executable: bool = False
    ) -> None:
        await self._arrivals.keep_file(task.ref, path, chunks, executable=executable)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.terms.look_each_ms / 1000)
            self.look_for_silence()
