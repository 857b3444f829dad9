"""The agents that there are, and their tasks: what each of them says, and what follows from silence.

hello, heartbeats, news of tasks ──► AgentPool ──► reports, notices, changes of nodes
silence ─────────────────────────────┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from rota.backends.agents.agent import Agent, Session
from rota.backends.agents.claims import (
    Refusal,
    believable_node,
    believable_refs,
    check_name,
    check_protocol,
)
from rota.backends.agents.notices import Notices
from rota.backends.agents.task import AgentTask
from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskEnded, TaskRef, TaskReport
from rota.backends.roster import AgentSeen
from rota.clock import now_ms, since_boot_ms
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import NodeName
from rota.wire import agents_pb2 as wire


class NameTaken(Refusal):
    """By another machine, which may still run tasks."""


class NotTheirs(Refusal):
    """A task that the agent doesn't have, or not any more."""


class AgentPool:
    """What agents say; `AgentsBackend` adds what a server asks of them."""

    def __init__(
        self, name: str, terms: Terms, reserved: frozenset[NodeName], on_change: Callable[[], None]
    ) -> None:
        """`name`: of the backend that these nodes are of. `reserved`: names that no agent may have.
        `on_change`: something about nodes has changed."""
        self.name = name
        self.terms = terms
        self.notices = Notices()
        self.on_change = on_change
        self._reserved = reserved
        self._agents: dict[NodeName, Agent] = {}
        self._sessions: dict[str, Session] = {}
        self._tasks: dict[TaskRef, AgentTask] = {}
        self._ready: set[NodeName] = set()
        self._reports: asyncio.Queue[TaskReport] = asyncio.Queue()

    # -- what agents say

    def greet(self, hello: wire.Hello) -> Session:
        """Raises Refusal. Nothing changes until the agent answers: this may be a connection that it gave up
        long ago, and what it said there isn't true any more."""
        check_protocol(hello.protocol)
        check_name(hello.name)
        name = NodeName(hello.name)
        if name in self._reserved:
            raise NameTaken(f"name: {name} is the server's own worker; give the agent another with --name")
        node = believable_node(name, self.name, hello.node)
        kept = set(believable_refs(list(hello.tasks)))
        self._check_instance(hello)
        agent = self._agents.get(name) or Agent(name, since_boot_ms())
        # It counts its lease from this word as soon as it is welcome.
        agent.heard(hello.clock_ms, 0)
        session = Session(agent, hello, node, kept)
        self._sessions[session.secret] = session
        return session

    def _check_instance(self, hello: wire.Hello) -> None:
        agent = self._agents.get(NodeName(hello.name))
        if agent is not None and agent.instance not in ("", hello.instance):
            raise NameTaken(
                f"name: another machine has the name {hello.name}, or had until a moment ago; "
                "give the agent another with --name"
            )

    def admit(self, session: Session) -> None:
        """The agent uses this connection, and none that it had before. Raises Refusal."""
        if session.is_admitted:
            return
        self._check_instance(session.hello)
        session.is_admitted = True
        name = session.agent.name
        agent = self._agents.get(name)
        if agent is None:
            # New, or given up since its hello.
            agent = self._agents[name] = Agent(name, since_boot_ms(), session.agent.clock)
        session.agent = agent
        agent.close_session()
        is_new = agent.node is None
        agent.comes(session.hello, session.node)
        agent.session = session
        self._compare(agent, session, session.kept)
        if is_new:
            self.notices.tell("agent.Joined", agent.name, version=agent.version, tasks=len(session.kept))
        self.on_change()

    def _compare(self, agent: Agent, session: Session, kept: set[TaskRef]) -> None:
        """What it should have with what it has. What nobody wants of that is revoked when it says more."""
        agent.to_settle = {ref: None for ref in agent.to_settle if ref in kept}
        session.settle(agent.to_settle)
        missing = [task for ref, task in agent.tasks.items() if ref not in kept]
        for task in missing:
            if task.is_lost_without():
                self._lose(task, "the agent came back without it")
        session.offer([task for task in missing if task.is_wanted])

    def heartbeat(self, session: Session, heartbeat: wire.Heartbeat) -> None:
        """Raises Refusal; a session that has been closed can't say anything any more."""
        self.admit(session)
        agent = session.agent
        is_news = agent.takes(heartbeat, self.name)
        agent.heard(heartbeat.clock_ms, heartbeat.round_trip_ms)
        if is_news:
            self.on_change()

    def forgotten(self, session: Session, refs: Sequence[TaskRef]) -> None:
        for ref in refs:
            session.agent.to_settle.pop(ref, None)

    def left(self, session: Session, *, for_good: bool) -> None:
        """Its connection has ended. One that leaves for good says so, and has nothing any more."""
        self._sessions.pop(session.secret, None)
        agent = session.agent
        if agent.session is not session:
            return
        agent.close_session()
        if for_good and not agent.tasks:
            del self._agents[agent.name]
            self.notices.tell("agent.Left", agent.name)
            self.on_change()

    def session_of(self, secret: str) -> Session | None:
        session = self._sessions.get(secret)
        if session is None or session.is_closed:
            return None
        try:
            self.admit(session)
        except Refusal:
            return None
        return session

    def task_of(self, session: Session, ref: TaskRef) -> AgentTask:
        """Raises NotTheirs."""
        task = session.agent.tasks.get(ref)
        if task is None or not task.is_wanted:
            raise NotTheirs(f"task {ref.rank} of job {ref.job} isn't {session.agent.name}'s any more")
        return task

    async def wanted(self, session: Session, ref: TaskRef, *, is_kept: bool) -> AgentTask | None:
        """What the agent is to perform, or to go on with if it has it already; None: nobody wants that."""
        task = session.agent.tasks.get(ref)
        if task is None or not task.is_wanted or (task.start is None and not is_kept):
            return None
        return task

    def is_of_another(self, session: Session, ref: TaskRef) -> bool:
        task = self._tasks.get(ref)
        return task is not None and task.node not in ("", session.agent.name)

    def hear_of(self, task: AgentTask, report: TaskReport) -> None:
        if (taken := task.takes(report)) is not None:
            self._reports.put_nowait(taken)

    # -- what becomes of them

    def _add(self, agent: Agent, task: AgentTask) -> None:
        self._tasks[task.ref] = agent.tasks[task.ref] = task

    def _lose(self, task: AgentTask, why: str) -> None:
        self._tasks[task.ref] = task
        self.hear_of(task, TaskEnded(task.ref, now_ms(), TaskEnd(EndReason.LOST, message=why)))

    def _is_heard(self, agent: Agent) -> bool:
        return since_boot_ms() - agent.heard_ms < self.terms.silent_after_ms

    def look_for_silence(self) -> None:
        now_ms = since_boot_ms()
        given_up_ms = now_ms - self.terms.given_up_after_ms
        for agent in [agent for agent in self._agents.values() if agent.heard_ms <= given_up_ms]:
            self._lose_agent(agent)
        for session in list(self._sessions.values()):
            if not session.is_admitted and session.since_ms <= given_up_ms:
                session.close()
        silent_ms = now_ms - self.terms.silent_after_ms
        ready = {agent.name for agent in self._agents.values() if agent.heard_ms > silent_ms}
        if ready != self._ready:
            self._ready = ready
            self.on_change()

    def _lose_agent(self, agent: Agent) -> None:
        """By now it has ended all its tasks by itself: they may run elsewhere."""
        agent.close_session()
        del self._agents[agent.name]
        seconds = self.terms.given_up_after_ms / 1000
        for task in list(agent.tasks.values()):
            self._lose(task, f"its agent wasn't heard of for {seconds:g} s")
        self.notices.tell("agent.Lost", agent.name, tasks=len(agent.tasks), after_s=seconds)
        self.on_change()

    # -- for the roster

    def seen(self) -> dict[str, AgentSeen]:
        return {
            agent.name: AgentSeen(
                connected=agent.session is not None and self._is_heard(agent),
                heartbeat_ms=now_ms() - (since_boot_ms() - agent.heard_ms),
                version=agent.version,
                clock_skew_ms=-agent.clock.server_ahead_ms,
            )
            for agent in self._agents.values()
            if agent.node is not None
        }

    def cut(self, name: str) -> None:
        agent = self._agents.get(NodeName(name))
        if agent is not None:
            agent.close_session()
