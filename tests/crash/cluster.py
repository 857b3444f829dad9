"""A real cluster to torture: three agents, the ways to whoever gives them work, and who that is."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from pathlib import Path

from tests.crash.diary import CPUS, GIBIBYTES
from tests.crash.namespaces import Namespaces
from tests.crash.relay import Relays
from tests.crash.victims import Agent, hit


class Cluster(ABC):
    """Raises Missing where something can't be had here."""

    relays: Relays | None = None
    namespaces: Namespaces | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agents: dict[str, Agent] = {}
        try:
            self._start()
        except BaseException:
            self.remove()
            raise

    @abstractmethod
    def _start(self) -> None:
        """Returns when all are there."""

    @abstractmethod
    def until_well(self) -> None:
        """Somebody is there to give work to."""

    @abstractmethod
    def ended_by_themselves(self) -> list[str]:
        """Whoever isn't there though nobody has killed it."""

    @property
    def ways(self) -> Namespaces | Relays:
        """That can be taken away."""
        ways = self.namespaces or self.relays
        assert ways is not None
        return ways

    def _start_agent(self, name: str, agent: Agent, *flags: str) -> None:
        settings = self.folder / f"agent-{name}.toml"
        settings.write_text(f'[worker]\ncpus = {CPUS}\nmemory = "{GIBIBYTES}Gi"\n[logs]\nformat = "json"\n')
        agent.start("--config", str(settings), *flags)
        self.agents[name] = agent

    def _start_agent_by_relays(self, name: str) -> None:
        assert self.relays is not None
        targets = [word for target in self.relays.listen(name) for word in ("--server", target)]
        self._start_agent(name, Agent(self.folder / f"agent-{name}", name, ()), "--name", name, *targets)

    def _agents_gone(self) -> list[str]:
        return [f"agent {name}" for name, agent in self.agents.items() if not agent.is_there]

    def remove(self) -> None:
        """With all that runs."""
        for agent in self.agents.values():
            agent.signal(signal.SIGKILL)
            agent.wait()
            hit(agent.keepers(), signal.SIGKILL)
            hit(agent.tasks(), signal.SIGKILL)
        if self.relays is not None:
            self.relays.close()
        if self.namespaces is not None:
            self.namespaces.remove()
