"""The agents' side: as any server has it, but what agents have may be asked for later than they come.

an agent comes with tasks that nobody knows ──► they go on, unclaimed, and it gets nothing new
a controller names one of them              ──► claimed: its stages, output and end are told
no controller is missing any more           ──► the rest is revoked
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from rota.backends.agents.agent import Agent, Session
from rota.backends.agents.arrivals import Arrivals
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.task import AgentTask
from rota.backends.backend import TaskRef
from rota.clock import since_boot_ms
from rota.model.ids import NodeName
from rota.stateless_scheduler.waiting import any_of


class ActionsBackend(AgentsBackend):
    def __init__(
        self, arrivals: Arrivals, may_be_claimed: Callable[[TaskRef], bool], **settings: Any
    ) -> None:
        super().__init__(arrivals, **settings)
        self._may_be_claimed = may_be_claimed
        self._to_be_told_again: dict[TaskRef, asyncio.Event] = {}

    # -- what agents have

    def _compare(self, agent: Agent, session: Session, kept: set[TaskRef]) -> None:
        super()._compare(agent, session, kept)
        before, agent.unclaimed = agent.unclaimed, {}
        for ref in kept:
            if ref not in agent.tasks and ref not in agent.to_settle and self._may_be_claimed(ref):
                agent.unclaimed[ref] = before.pop(ref) if ref in before else asyncio.Event()
        for decided in before.values():
            decided.set()

    async def wanted(self, session: Session, ref: TaskRef, *, is_kept: bool) -> AgentTask | None:
        """Waits while nobody can tell: its controller isn't back, or hasn't kept its end."""
        agent = session.agent
        while not session.is_closed:
            task = agent.tasks.get(ref)
            if (decided := agent.unclaimed.get(ref)) is not None:
                await any_of(decided, session.closed)
            elif task is not None and task.over is not None and not task.settled.is_set():
                told_again = self._to_be_told_again.setdefault(ref, asyncio.Event())
                await any_of(told_again, task.settled, session.closed)
                self._to_be_told_again.pop(ref, None)
            else:
                break
        return await super().wanted(session, ref, is_kept=is_kept)

    # -- what controllers know

    def claim(self, tasks: Iterable[tuple[TaskRef, NodeName]]) -> None:
        """A controller knows these to be there. If the agent is away it is waited for, for as long as for any
        that isn't heard of; by then it has ended them. What it turns out not to have is reported as lost."""
        for ref, node in tasks:
            if ref in self._tasks:
                continue
            task = AgentTask(ref, node)
            agent = self._agents.get(node)
            if agent is None:
                agent = self._agents[node] = Agent(node, since_boot_ms())
            if agent.node is None:
                self._add(agent, task)
            elif (decided := agent.unclaimed.pop(ref, None)) is not None:
                self._add(agent, task)
                decided.set()
                self.on_change()
            else:
                self._lose(task, f"agent {node} doesn't have it")

    def review_claims(self) -> None:
        """Nobody will ask for what can't be claimed any more: agents are told so."""
        for agent in self._agents.values():
            for ref in [ref for ref in agent.unclaimed if not self._may_be_claimed(ref)]:
                agent.unclaimed.pop(ref).set()
                self.on_change()

    def tell_again(self, ref: TaskRef) -> bool:
        """From where its controller is: the agent opens another stream, and tells the end as well. False: no
        agent has it any more."""
        task = self._tasks.get(ref)
        agent = None if task is None else self._agents.get(task.node)
        if task is None or agent is None or ref not in agent.tasks:
            return False
        task.over, task.is_told_again = None, True
        if task.stream is not None:
            task.stream.break_off()
        if (waiting := self._to_be_told_again.pop(ref, None)) is not None:
            waiting.set()
        return True

    def is_told_again(self, ref: TaskRef) -> bool:
        """Its end was heard before its controller said how far it is: all that it missed comes first."""
        task = self._tasks.get(ref)
        return task is not None and task.is_told_again
