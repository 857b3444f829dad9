"""A real cluster to torture: servers, agents, a database, and the ways between them."""

from __future__ import annotations

import signal
from pathlib import Path

from rota.trust.enrol import join
from tests.crash.diary import CPUS, GIBIBYTES
from tests.crash.namespaces import Namespaces
from tests.crash.plan import AGENTS, LOST_AFTER_S, Kind
from tests.crash.relay import Relays
from tests.crash.victims import Agent, Database, Server, hit
from tests.crash.wal import Log
from tests.real.agents.fleet import free_port
from tests.real.server.rota_server import eventually

_ALL = 1_000_000
"""Of all runs are kept: they are asked for in the end."""


class Cluster:
    """Raises Missing where something can't be had here."""

    database: Database | None = None
    relays: Relays | None = None
    namespaces: Namespaces | None = None

    def __init__(self, folder: Path, kind: Kind) -> None:
        self.folder = folder
        self.servers: list[Server] = []
        self.agents: dict[str, Agent] = {}
        try:
            self._start(kind)
        except BaseException:
            self.remove()
            raise

    def _start(self, kind: Kind) -> None:
        database: list[str] = []
        address = "127.0.0.1"
        if kind is Kind.POSTGRES:
            self.database = Database()
            database = ["--database", self.database.new_database()]
        elif kind is Kind.PARTED:
            self.namespaces = Namespaces(AGENTS)
            address = self.namespaces.server_address
        ports = [free_port() for _ in range(1 if kind.is_sqlite else 2)]
        for port in ports:
            self._add_server(address, port, *database)
        if self.namespaces is None:
            self.relays = Relays(AGENTS, ports)
        for name in AGENTS:
            self._add_agent(name)
        self.until_it_leads()
        self.until_all_attend()

    def _add_server(self, address: str, port: int, *flags: str) -> None:
        home = self.folder / f"server-{len(self.servers) + 1}"
        home.mkdir(parents=True)
        settings = home / "rota.toml"
        settings.write_text(
            f'[server]\naddress = "{address}"\nembedded_worker = false\n'
            f'files = "{self.folder / "files"}"\n'
            f"tls.self_signed = {'true' if self.namespaces else 'false'}\n"
            f'[agents]\naddress = "{address}"\nport = {port}\nlost_after = "{LOST_AFTER_S:g}s"\n'
            f"[server.history]\nsucceeded = {_ALL}\nfailed = {_ALL}\n"
            '[logs]\nformat = "json"\n'
        )
        server = Server(home, "--config", str(settings), *flags)
        self.servers.append(server)
        server.start()
        # Whoever led first has made it; it holds for all.
        server.secret = self.servers[0].token

    def _add_agent(self, name: str) -> None:
        folder = self.folder / f"agent-{name}"
        settings = self.folder / f"agent-{name}.toml"
        settings.write_text(f'[worker]\ncpus = {CPUS}\nmemory = "{GIBIBYTES}Gi"\n[logs]\nformat = "json"\n')
        if self.namespaces is not None:
            [server] = self.servers
            with server.asking() as client:
                token = client.invite_agent().token
            assert token is not None
            join(token, folder, name)
            agent, flags = Agent(folder, name, self.namespaces.inside(name)), []
        else:
            assert self.relays is not None
            flags = [word for target in self.relays.listen(name) for word in ("--server", target)]
            agent, flags = Agent(folder, name, ()), ["--name", name, *flags]
        agent.start("--config", str(settings), *flags)
        self.agents[name] = agent

    @property
    def leader(self) -> Server:
        """As far as anybody can tell from outside."""
        return next((server for server in self.servers if server.stage() == "ready"), self.servers[0])

    @property
    def log(self) -> Log:
        """Of its SQLite database."""
        [server] = self.servers
        return Log(server.data / "rota.db")

    def ended_by_themselves(self) -> str:
        """Whoever isn't there though nobody has killed it; empty: all are there."""
        return ", ".join(
            [f"server {server.home.name}" for server in self.servers if not server.is_there]
            + [f"agent {name}" for name, agent in self.agents.items() if not agent.is_there]
        )

    def until_it_leads(self) -> None:
        eventually(lambda: any(server.stage() == "ready" for server in self.servers), "a server that leads")

    def until_all_attend(self) -> None:
        def ready() -> set[str]:
            with self.leader.asking() as client:
                return {node.name for node in client.nodes() if node.ready}

        eventually(lambda: ready() == set(AGENTS), "all agents")

    def remove(self) -> None:
        """With all that runs."""
        for agent in self.agents.values():
            agent.signal(signal.SIGKILL)
            agent.wait()
            hit(agent.keepers(), signal.SIGKILL)
            hit(agent.tasks(), signal.SIGKILL)
        for server in self.servers:
            server.signal(signal.SIGCONT)
            server.kill()
        for closing in (self.relays, self.namespaces, self.database):
            match closing:
                case Relays():
                    closing.close()
                case Namespaces() | Database():
                    closing.remove()
