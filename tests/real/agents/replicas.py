"""Real servers on one database, with one folder for files, and agents that know them all."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3
from msgspec import json

from rota.sdk.client import Client
from tests.real.agents.fleet import free_port
from tests.real.agents.stand import AgentProcess
from tests.real.server.rota_server import RotaServer, eventually

LOST_AFTER_S = 60.0
"""As it is by default: longer than servers and agents take to notice that one is gone."""


class Replica(RotaServer):
    def __init__(
        self, folder: Path, database: str, files: Path | None, *flags: str, only_joined: bool = False
    ) -> None:
        door = folder.with_suffix(".door")
        self.target = f"127.0.0.1:{free_port()}" if only_joined else f"unix:{door / 'a.sock'}"
        environment = {
            "ROTA_SERVER_EMBEDDED_WORKER": "false",
            "ROTA_SERVER_FILES": "" if files is None else str(files),
            "ROTA_AGENTS_LOST_AFTER": f"{LOST_AFTER_S:g}s",
        }
        flags = ("--database", database, "--agents", self.target, *flags)
        super().__init__(folder, *flags, environment=environment)

    @property
    def status(self) -> str:
        """What it says of itself; empty: it isn't ready."""
        with urllib3.PoolManager(ca_certs=self.ca) as pool:
            answer = pool.request("GET", f"{self.url}/readyz", retries=False, timeout=20)
        return str(json.decode(answer.data).get("status")) if answer.status == 200 else ""

    @contextmanager
    def frozen(self) -> Iterator[None]:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)


class Replicas:
    """Two, of which the first leads at first."""

    def __init__(self, folder: Path, database: str, *flags: str, only_joined: bool = False) -> None:
        self._folder = folder
        self.one, self.other = (
            Replica(folder / name, database, folder / "files", *flags, only_joined=only_joined)
            for name in ("one", "other")
        )
        self._agents: list[AgentProcess] = []
        self.one.start()
        self.other.start()
        self.client = Client(self.other.url, self.one.token, ca=self.other.ca)
        """Of the second: while it stands by, it passes on what it is asked."""

    def agent(self, name: str, *flags: str) -> AgentProcess:
        agent = AgentProcess(self._folder / name, name, self.one.target)
        self._agents.append(agent)
        agent.start("--server", self.other.target, *flags)
        self.until_ready(name)
        return agent

    def joined_agent(self, name: str) -> AgentProcess:
        """One that has joined, and knows all servers."""
        agent = AgentProcess(self._folder / name, name, "")
        self._agents.append(agent)
        token = self.one.cli("agent", "token").strip()
        self.one.cli("agent", "join", token, "--name", name, "--data", str(agent.folder))
        servers = ("--server", self.one.target, "--server", self.other.target)
        agent.begin("agent", "--data", str(agent.folder), *servers)
        self.until_ready(name)
        return agent

    def until_ready(self, name: str) -> None:
        eventually(lambda: name in self.ready_nodes(), f"agent {name} to be ready")

    def ready_nodes(self) -> set[str]:
        return {node.name for node in self.client.nodes() if node.ready}

    def until_other_leads(self) -> None:
        eventually(lambda: self.other.status == "ready", "the other to lead")

    def output(self, job: str) -> str:
        return b"".join(chunk.data for chunk in self.client.logs(job)).decode()

    def says(self, job: str, text: str) -> None:
        eventually(lambda: text in self.output(job), f"job {job} to write {text!r}")

    def remove(self) -> None:
        self.client.close()
        for agent in self._agents:
            asyncio.run(agent.remove())
        for server in (self.one, self.other):
            server.remove()
