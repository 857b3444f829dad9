"""Ten thousand who connect and never say a word: agents and users of the server don't notice."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from tests.real.agents.fleet import free_port
from tests.real.agents.stand import AgentProcess
from tests.real.conftest import missing
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = [pytest.mark.covers("ops-3"), pytest.mark.slow]

CROWD = 10_000


@contextmanager
def many_open_files(count: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count:
        missing(f"{count} open files are needed, and {hard} are allowed; raise ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_connects_and_never_shakes_hands_harms_nobody(tmp_path: Path) -> None:
    port = free_port()
    settings = tmp_path / "rota.toml"
    settings.write_text(
        f'[server]\nembedded_worker = false\n[agents]\naddress = "127.0.0.1"\nport = {port}\n'
    )
    with ExitStack() as stack:
        stack.enter_context(many_open_files(CROWD + 1_000))
        server = RotaServer(tmp_path / "server", "--config", str(settings))
        server.start()
        stack.callback(server.remove)
        agent = AgentProcess(tmp_path / "one", "one", f"127.0.0.1:{port}")
        token = server.cli("agent", "token").strip()
        server.cli("agent", "join", token, "--name", "one", "--data", str(agent.folder))
        agent.start()
        stack.callback(lambda: asyncio.run(agent.remove()))
        eventually(lambda: [node.ready for node in server.client.nodes()] == [True], "the agent to come")
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(CROWD)]
        job = server.run(shell("echo among them"))
        assert job.phase is Phase.SUCCEEDED
        assert server.output(job.id) == "among them\n"
        # They are sent away, also the last of them, and the agent that was there stays.
        for one in crowd:
            one.settimeout(60)
            while one.recv(1 << 16):
                pass
        assert not list(server.client.events(kind="agent.Lost"))
        assert server.run(shell("true")).phase is Phase.SUCCEEDED
