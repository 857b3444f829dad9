"""The agents of a scheduler that keeps nothing: those in its pool, with what they have and run."""

from __future__ import annotations

from collections.abc import Sequence

from rota.api.cluster import AgentDocument
from rota.control.access import Who
from rota.control.transactor import Transactor
from rota.lifecycle.state import JobState
from rota.loop.desk.nodes import jobs_on_nodes, node_documents
from rota.model.ids import NodeName
from rota.server.agent_list import with_node
from rota.server.documents import unproven_agent
from rota.stateless_scheduler.actions import Book
from rota.stateless_scheduler.pool import ActionsBackend


class SchedulerAgents:
    """It has no list of machines that have joined: one that is lost is known no more."""

    def __init__(self, backend: ActionsBackend, transactor: Transactor, book: Book) -> None:
        self._backend = backend
        self._memory = transactor.memory
        self._book = book

    async def listed(self, who: Who, now_ms: int) -> Sequence[AgentDocument]:
        """A controller is told of its own actions, an operator of all."""
        nodes = {node.name: node for node in node_documents(self._memory, {})}
        on_nodes = jobs_on_nodes(self._memory)
        return [
            with_node(
                unproven_agent(name, seen),
                nodes.get(name),
                filter(None, (self._named(state, who) for state in on_nodes.get(NodeName(name), ()))),
            )
            for name, seen in sorted(self._backend.seen().items())
        ]

    def _named(self, state: JobState, who: Who) -> str:
        """CONTROLLER/ACTION; empty: it is none of theirs."""
        action = self._book.jobs.get(state.id)
        if action is None or not (who.is_operator or action.controller == who.user):
            return ""
        return f"{action.controller}/{action.id}"
