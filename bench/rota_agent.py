"""`rota agent` in a process and a folder of its own, and a server that takes agents."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.rota_server import (
    PATIENCE_S,
    MoreSettings,
    RotaServer,
    clean_environment,
    cpu_s,
    end_keeper,
    keeper_of,
    running,
)
from rota.trust.local_socket import SOCKET_FILE

DEFAULT_LOG = "256MiB"
_ROTA = Path(sys.executable).with_name("rota")


class AgentsServer:
    """A server without a worker of its own: whatever runs does so on agents."""

    def __init__(self, server: RotaServer, target: str, log: str) -> None:
        self.server = server
        self.target = target
        self.log = log
        self.wire = server.wire

    def nodes(self) -> set[str]:
        """The names of those that may get tasks."""
        with self.wire() as wire:
            return {node["name"] for node in wire.get("/v1/nodes")["items"] if node["ready"]}

    def has(self, names: set[str]) -> None:
        until = time.monotonic() + PATIENCE_S
        while not names <= self.nodes():
            if time.monotonic() > until:
                raise SystemExit(f"not all agents came: {sorted(names - self.nodes())} are missing")
            time.sleep(0.1)


@contextmanager
def taking_agents(name: str, log: str = DEFAULT_LOG) -> Iterator[AgentsServer]:
    """`log`: how much of what each task writes is kept, here and by its agents."""
    more = MoreSettings(
        server="embedded_worker = false",
        limits=f'log = "{log}"',
        others='[agents]\naddress = "unix"\n',
    )
    with running(name, more=more) as server:
        yield AgentsServer(server, f"unix:{server.folder / 'rota' / SOCKET_FILE}", log)


class RotaAgent:
    def __init__(self, folder: Path, place: AgentsServer, cpus: int) -> None:
        self.name = folder.name
        self.folder = folder
        self._target = place.target
        self._log = place.log
        self._cpus = cpus
        self._process: subprocess.Popen[bytes] | None = None
        self._left: list[int] = []
        """What has to be ended by hand, since its keeper can't any more."""

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder.with_suffix(".toml")
        settings.write_text(
            f"[worker]\ncpus = {self._cpus}\n"
            f'[server.limits]\nlog = "{self._log}"\n[logs]\nlevel = "warning"\n'
        )
        said = ("--config", str(settings), "--server", self._target, "--name", self.name)
        with self.folder.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(_ROTA), "agent", *said, "--data", str(self.folder)],
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def cpu_s(self) -> float:
        """That the agent has used, without its keeper."""
        return cpu_s(self.pid)

    def vanish(self, *, is_frozen: bool, with_keeper: bool) -> None:
        """`with_keeper`: as if its machine were gone, but for what tasks it had."""
        number = signal.SIGSTOP if is_frozen else signal.SIGKILL
        if with_keeper:
            keeper = keeper_of(self.folder)
            self._left = [keeper, *_children_of(keeper)]
            os.kill(keeper, number)
        os.kill(self.pid, number)

    def remove(self) -> None:
        """With all that it has left."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pid in self._left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not self._left:
            end_keeper(self.folder)


@contextmanager
def agents(place: AgentsServer, count: int, *, cpus: int) -> Iterator[list[RotaAgent]]:
    """All of them ready."""
    folder = place.server.folder / "agents"
    shutil.rmtree(folder, ignore_errors=True)
    made = [RotaAgent(folder / f"real{number}", place, cpus) for number in range(count)]
    try:
        for agent in made:
            agent.start()
        place.has({agent.name for agent in made})
        yield made
    finally:
        for agent in made:
            agent.remove()


def _children_of(pid: int) -> list[int]:
    return [
        int(child)
        for threads in Path(f"/proc/{pid}/task").iterdir()
        for child in (threads / "children").read_text().split()
    ]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
