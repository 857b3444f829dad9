"""What an agent shows to its server, its jobs can't see: whoever had it would be that agent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from tests.as_ourselves import AS_OURSELVES
from tests.real.agents.stand import AgentProcess
from tests.real.hostile.accounts import folder_for_others, need_root
from tests.real.server.rota_server import RotaServer, eventually

pytestmark = pytest.mark.slow

SETTINGS = '[server]\nembedded_worker = false\n[agents]\naddress = "127.0.0.1"\nport = 0\n'


@pytest.fixture
def folder() -> Iterator[Path]:
    need_root()
    with folder_for_others() as made:
        yield made


@pytest.mark.covers("trust-2")
def test_a_job_of_an_agent_reads_neither_its_key_nor_its_folder(folder: Path) -> None:
    (folder / "rota.toml").write_text(SETTINGS)
    with ExitStack() as stack:
        server = RotaServer(folder / "server", "--config", str(folder / "rota.toml"), "--tls-self-signed")
        stack.callback(server.remove)
        server.start()
        data = folder / "m1"
        token = server.cli("agent", "token").strip()
        server.cli("agent", "join", token, "--name", "m1", "--data", str(data))
        assert (data / "identity.json").exists()
        apart = {"ROTA_WORKER_ISOLATION": "project", "ROTA_WORKER_ROOMS": str(folder / "rooms")}
        agent = AgentProcess(data, "", "", AS_OURSELVES | apart)
        stack.callback(lambda: asyncio.run(agent.remove()))
        agent.begin("agent", "--data", str(data))
        eventually(lambda: list(server.client.nodes()), "the agent")
        script = f"id -u; cat {data}/identity.json {data}/journal || ls {data}; echo x > {data}/lease; true"
        over = server.run({"command": ["/bin/sh", "-c", script], "time_limit": "1m"})
        assert over.phase is Phase.SUCCEEDED
        uid, *complaints = server.output(over.id).splitlines()
        assert int(uid) >= 1000
        assert len(complaints) == 4
        assert all("Permission denied" in line for line in complaints)
