"""Which agents there are, what they have, and what they run: of a server, or of a stateless scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from rota.api.cluster import AgentDocument, NodeDocument
from rota.control.access import Who
from rota.control.enrolment import Enrolment
from rota.loop.desk.nodes import NodesDesk
from rota.model.ids import NodeName
from rota.server.documents import agent_document, unproven_agent

MOST_RUNS = 100
"""Named of each agent."""


class AgentList(Protocol):
    async def listed(self, who: Who, now_ms: int) -> Sequence[AgentDocument]:
        """By name. What runs is named as far as they may see it."""


class ServerAgents:
    """Those that have joined, and those of the server's own user on its machine, which need not."""

    def __init__(self, enrolment: Enrolment, nodes: NodesDesk) -> None:
        self._enrolment = enrolment
        self._nodes = nodes

    async def listed(self, who: Who, now_ms: int) -> Sequence[AgentDocument]:
        joined = [agent_document(agent, seen, now_ms) for agent, seen in await self._enrolment.agents()]
        unproven = [unproven_agent(name, seen) for name, seen in (await self._enrolment.unproven()).items()]
        nodes = {node.name: node for node in await self._nodes.nodes()}
        runs: Mapping[NodeName, Iterable[str]] = {
            name: [state.id for state in states if who.sees(state.spec.template.project)]
            for name, states in self._nodes.jobs_on().items()
        }
        found = (
            with_node(one, nodes.get(one.name), runs.get(NodeName(one.name), ()))
            for one in (*joined, *unproven)
        )
        return sorted(found, key=lambda one: one.name)


def with_node(agent: AgentDocument, node: NodeDocument | None, runs: Iterable[str]) -> AgentDocument:
    """What it has, as long as it is in the pool."""
    if node is None or not node.backend:
        return agent
    return replace(
        agent,
        pool=node.pool,
        capacity=node.capacity,
        used=node.used,
        load=node.load,
        memory_used=node.memory_used,
        tasks=node.tasks,
        runs=sorted(runs)[:MOST_RUNS],
    )
