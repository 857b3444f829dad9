"""An agent whose clock is wrong: shown, and what it says of times is moved to the server's clock."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from rota.agent.dialling import credentials, loop_channel
from rota.backends.agents.messages import ref_from
from rota.lifecycle.state import Phase
from rota.trust.folder import read_identity
from rota.wire import agents_pb2 as wire
from tests.real.agents.caller import Caller, hello, node
from tests.real.agents.settings import SETTINGS
from tests.real.server.rota_server import RotaServer, shell

pytestmark = [pytest.mark.slow, pytest.mark.covers("agent-2")]


@pytest.mark.parametrize("ahead_s, told", [(3600, "ahead of"), (-3600, "behind")])
def test_a_clock_that_is_wrong_is_shown_and_not_believed(tmp_path: Path, ahead_s: int, told: str) -> None:
    (tmp_path / "rota.toml").write_text(SETTINGS)
    server = RotaServer(tmp_path / "server", "--config", str(tmp_path / "rota.toml"), "--tls-self-signed")
    server.start()
    folder = tmp_path / "m1"
    try:
        token = server.cli("agent", "token").strip()
        server.cli("agent", "join", token, "--name", "m1", "--data", str(folder))
        asyncio.run(_work(server, folder, ahead_s))
        began_s, ended_s = _times(server)
        assert abs(began_s - time.time()) < 60
        assert 0 <= ended_s - began_s < 60
        assert f"its clock is 3600.0 s {told} the server's" in server.cli("nodes")
        [agent] = server.client.agents()
        assert agent.clock_skew_s == pytest.approx(ahead_s, abs=1)
        assert f"{ahead_s:+.1f} s" in server.cli("agent", "ls")
    finally:
        server.remove()


async def _work(server: RotaServer, folder: Path, ahead_s: int) -> None:
    """One job, done at once as far as the server can tell."""

    def now_ms() -> int:
        return int(1000 * (time.time() + ahead_s))

    proof = credentials(folder)
    assert proof is not None
    async with loop_channel(read_identity(folder).agents_address, proof) as channel:
        agent = Caller(channel)
        attending = await agent.attend(hello("m1", clock_ms=now_ms()))
        job = await asyncio.to_thread(server.submit_one, shell("true"))
        while (order := await agent.hear(attending)).WhichOneof("order") != "offer":
            pass
        [offered] = order.offer.tasks
        assert offered.ref.job == job
        performing, _ = await agent.perform(ref_from(offered.ref), kept=False)
        await performing.write(wire.TaskNews(started=wire.Started(at_ms=now_ms())))
        ended = wire.Ended(at_ms=now_ms(), reason="exited", exit_code=0)
        await performing.write(wire.TaskNews(ended=ended))
        over = await asyncio.to_thread(server.over, job)
        assert over.phase is Phase.SUCCEEDED
        beat = wire.Heartbeat(number=1, node=node(), clock_ms=now_ms())
        await attending.write(wire.AgentNews(heartbeat=beat))
        while (await agent.hear(attending)).WhichOneof("order") != "acknowledged":
            pass


def _times(server: RotaServer) -> tuple[float, float]:
    [job] = server.client.jobs()
    [attempt] = server.client.job(job.id).attempts
    assert attempt.started is not None
    assert attempt.ended is not None
    return attempt.started.timestamp(), attempt.ended.timestamp()
