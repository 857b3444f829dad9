"""One server on SQLite, or two on PostgreSQL, with agents."""

from __future__ import annotations

import signal
from pathlib import Path

from rota.trust.enrol import join
from tests.crash.cluster import Cluster
from tests.crash.namespaces import Namespaces
from tests.crash.plan import AGENTS, LOST_AFTER_S, Kind
from tests.crash.relay import Relays
from tests.crash.victims import Agent, Database, Server
from tests.crash.wal import Log
from tests.real.agents.fleet import free_port
from tests.real.server.rota_server import eventually


class ServerCluster(Cluster):
    database: Database | None = None

    def __init__(self, folder: Path, kind: Kind) -> None:
        self.kind = kind
        self.servers: list[Server] = []
        super().__init__(folder)

    def _start(self) -> None:
        database: list[str] = []
        address = "127.0.0.1"
        if self.kind is Kind.POSTGRES:
            self.database = Database()
            database = ["--database", self.database.new_database()]
        elif self.kind is Kind.PARTED:
            self.namespaces = Namespaces(AGENTS)
            address = self.namespaces.server_address
        doors = [self.folder / f"door-{number}" / "a.sock" for number in range(2 if self.database else 1)]
        for door in doors:
            agents = f"unix:{door}" if self.namespaces is None else address
            self._add_server(address, agents, *database)
        if self.namespaces is not None:
            for name in AGENTS:
                self._join_agent(name, self.namespaces)
        else:
            self.relays = Relays(dict.fromkeys(AGENTS, doors))
            for name in AGENTS:
                self._start_agent_by_relays(name)
        self.until_well()
        self._until_all_attend()

    def _add_server(self, address: str, agents: str, *flags: str) -> None:
        home = self.folder / f"server-{len(self.servers) + 1}"
        home.mkdir(parents=True)
        settings = home / "rota.toml"
        settings.write_text(
            f'[server]\naddress = "{address}"\nembedded_worker = false\n'
            f'files = "{self.folder / "files"}"\n'
            f"tls.self_signed = {'true' if self.namespaces else 'false'}\n"
            f'[agents]\naddress = "{agents}"\nport = {free_port()}\nlost_after = "{LOST_AFTER_S:g}s"\n'
            "[server.history]\nttl = 0\nmost_jobs = 0\n"
            '[logs]\nformat = "json"\n'
        )
        server = Server(home, "--config", str(settings), *flags)
        self.servers.append(server)
        server.start()
        # Whoever led first has made it; it holds for all.
        server.secret = self.servers[0].token

    def _join_agent(self, name: str, namespaces: Namespaces) -> None:
        [server] = self.servers
        with server.asking() as client:
            token = client.invite_agent().token
        assert token is not None
        folder = self.folder / f"agent-{name}"
        join(token, folder, name)
        self._start_agent(name, Agent(folder, name, namespaces.inside(name)))

    @property
    def leader(self) -> Server:
        """As far as anybody can tell from outside."""
        return next((server for server in self.servers if server.stage() == "ready"), self.servers[0])

    @property
    def log(self) -> Log:
        """Of its SQLite database."""
        [server] = self.servers
        return Log(server.data / "rota.db")

    def ended_by_themselves(self) -> list[str]:
        gone = [f"server {server.home.name}" for server in self.servers if not server.is_there]
        return gone + self._agents_gone()

    def until_well(self) -> None:
        eventually(lambda: any(server.stage() == "ready" for server in self.servers), "a server that leads")

    def _until_all_attend(self) -> None:
        def ready() -> set[str]:
            with self.leader.asking() as client:
                return {node.name for node in client.nodes() if node.ready}

        eventually(lambda: ready() == set(AGENTS), "all agents")

    def remove(self) -> None:
        for server in self.servers:
            server.signal(signal.SIGCONT)
            server.kill()
        super().remove()
        if self.database is not None:
            self.database.remove()
