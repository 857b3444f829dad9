"""Which agents may attend, and which do: where the keeper of agents and the backend they connect to meet.

control ──► what is kept of agents, and who was revoked just now
backend ──► asks at each connection and heartbeat; notes what it sees of each
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from rota.store.writing.batch import Agent
from rota.trust import Identity


class AgentSeen(Struct, frozen=True):
    """What is known of an agent while the server runs."""

    connected: bool
    heartbeat_ms: int
    """When the last one came in, by the server's clock."""
    version: str = ""
    clock_skew_ms: int = 0
    """How far its clock is ahead of the server's."""


class Roster:
    def __init__(self) -> None:
        self._agents: Callable[[], Mapping[str, Agent]] = dict
        self._seen: Callable[[], Mapping[str, AgentSeen]] = dict
        self._cut: Callable[[str], None] = lambda name: None

    def consult(self, agents: Callable[[], Mapping[str, Agent]]) -> None:
        """Where to look from now on: memory is replaced as a whole at times."""
        self._agents = agents

    def watch(self, seen: Callable[[], Mapping[str, AgentSeen]], cut: Callable[[str], None]) -> None:
        """What the backend sees, by name, and how it ends the connection of an agent."""
        self._seen, self._cut = seen, cut

    def seen(self) -> Mapping[str, AgentSeen]:
        return self._seen()

    def cut(self, name: str) -> None:
        self._cut(name)

    def agent(self, name: str) -> Agent | None:
        return self._agents().get(name)

    def refusal(self, identity: Identity) -> str:
        """Why its certificate doesn't count any more; empty: it does. TLS has seen to signature and dates."""
        agent = self.agent(identity.name)
        if agent is None:
            return f"no agent {identity.name} has joined"
        if agent.revoked_ms is not None:
            return f"agent {identity.name} was revoked"
        if all(one.serial != identity.serial for one in agent.certificates):
            return f"agent {identity.name} has another certificate by now"
        return ""
