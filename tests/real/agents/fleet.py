"""A real server that takes agents, and agents of this machine that work for it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from tests.real.agents.stand import AgentProcess
from tests.real.server.rota_server import RotaServer, eventually

PATIENT_S = 30.0
"""When agents count as lost: later than anything takes that isn't to be noticed, on a busy machine."""
IMPATIENT_S = 4.0


class Fleet:
    """Without a worker of the server's own: whatever runs does so on an agent."""

    def __init__(
        self, folder: Path, lost_after_s: float = PATIENT_S, environment: Mapping[str, str] | None = None
    ) -> None:
        """`environment`: more of the server's."""
        self._folder = folder
        folder.mkdir(exist_ok=True)
        settings = folder / "rota.toml"
        settings.write_text(
            f'[server]\nembedded_worker = false\n[agents]\nlost_after = "{lost_after_s:g}s"\n'
        )
        self.target = f"unix:{folder / 'door' / 'agents.sock'}"
        flags = "--config", str(settings), "--agents", self.target
        self.server = RotaServer(folder / "server", *flags, environment=environment)
        self.agents: dict[str, AgentProcess] = {}
        self.server.start()

    def agent(self, name: str, *flags: str) -> AgentProcess:
        """A new one, once the server knows it."""
        agent = self.agents[name] = AgentProcess(self._folder / name, name, self.target)
        agent.start(*flags)
        self.until_ready(name)
        return agent

    def until_ready(self, *names: str) -> None:
        eventually(lambda: set(names) <= self.ready_nodes(), f"agents {names} to be ready")

    def ready_nodes(self) -> set[str]:
        return {node.name for node in self.server.client.nodes() if node.ready and not node.cordoned}

    def node_of(self, job: str) -> str:
        """Where the latest attempt of its first task is."""
        return self.server.client.job(job).attempts[-1].node

    def agent_of(self, job: str) -> AgentProcess:
        return self.agents[self.node_of(job)]

    def events(self, kind: str) -> list[dict[str, object]]:
        return [event.data for event in self.server.client.events(kind=kind)]

    def remove(self) -> None:
        for agent in self.agents.values():
            asyncio.run(agent.remove())
        self.server.remove()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def cpus() -> int:
    """Of this machine, which each agent offers as its own."""
    return len(os.sched_getaffinity(0))
