"""Another server takes over: tasks go on, what they wrote stays readable, and who led before says nothing."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import grpc
import pytest
from msgspec import json

from rota.api.cluster import AgentState
from rota.lifecycle.state import Phase
from rota.wire import agents_pb2 as wire
from tests.real.agents.caller import calling, hello, node
from tests.real.agents.replicas import Replica, Replicas
from tests.real.agents.told import assert_whole, until
from tests.real.server.rota_server import PATIENCE_S, eventually, shell

pytestmark = [pytest.mark.slow, pytest.mark.covers("ops-2")]


@pytest.fixture
def replicas(tmp_path: Path, postgres_url: str) -> Iterator[Replicas]:
    made = Replicas(tmp_path, postgres_url)
    yield made
    made.remove()


def submitted(replicas: Replicas, script: str, **fields: object) -> str:
    [job] = replicas.client.submit(shell(script, **fields)).jobs
    return job.id


@pytest.mark.covers("job-3")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_tasks_go_on_and_nothing_that_was_written_is_lost(
    replicas: Replicas, tmp_path: Path, how: signal.Signals
) -> None:
    replicas.agent("a")
    told = tmp_path / "told"
    content = b"input\n" * 1000
    replicas.client.upload(content)
    file = {"path": "in", "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    before = submitted(replicas, "echo early; cp in out", files=[file], outputs=["out"])
    replicas.client.wait(before, timeout_s=PATIENCE_S)
    running = submitted(replicas, until(told), time_limit="5m")
    replicas.says(running, "line 5")
    with ExitStack() as stack:
        if how is signal.SIGSTOP:
            stack.enter_context(replicas.one.frozen())
        else:
            replicas.one.kill()
        replicas.until_other_leads()
        replicas.until_ready("a")
        later = submitted(replicas, "cat in", files=[file])
        written = len(replicas.output(running).splitlines())
        replicas.says(running, f"line {written + 20}")
    told.touch()
    assert replicas.client.wait(running, timeout_s=PATIENCE_S).phase is Phase.FAILED
    assert_whole(replicas.output(running))
    [attempt] = replicas.client.job(running).attempts
    assert attempt.exit_code == 4
    assert replicas.output(before) == "early\n"
    assert replicas.client.output(before, "out") == content
    assert replicas.client.wait(later, timeout_s=PATIENCE_S).phase is Phase.SUCCEEDED
    assert replicas.output(later).encode() == content


@pytest.mark.covers("agent-6")
async def test_a_leader_that_was_frozen_acknowledges_nothing(replicas: Replicas) -> None:
    one, other = replicas.one, replicas.other

    async with calling(one.target) as caller, calling(other.target) as late:
        attending = await caller.attend(hello("early"))
        await attending.write(_heartbeat(1))
        assert (await caller.hear(attending)).acknowledged.number == 1
        with one.frozen():
            await asyncio.to_thread(replicas.until_other_leads)
            await late.attend(hello("late"))
            await asyncio.to_thread(replicas.until_ready, "late")
            # Both wait for the frozen one, which finds them before it finds that it leads no more.
            await attending.write(_heartbeat(2))
            asked = _ask(one, "/v1/nodes")
        with closing(asked):
            status, body = await asyncio.to_thread(_answer, asked)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await caller.hear(attending)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        # Passed on to who leads now, or not answered: in no case as it was when it led itself.
        assert status == 503 or [each["name"] for each in body["items"]] == ["late"]
    eventually(lambda: one.status == "standby", "the first to stand by")


def _ask(server: Replica, path: str) -> socket.socket:
    """Sent, though nobody may listen."""
    host, port = server.url.removeprefix("http://").split(":")
    asked = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.token}\r\n"
    asked.sendall(f"{head}Connection: close\r\n\r\n".encode())
    return asked


def _answer(asked: socket.socket) -> tuple[int, Any]:
    answer = HTTPResponse(asked)
    answer.begin()
    return answer.status, json.decode(answer.read())


def _heartbeat(number: int) -> wire.AgentNews:
    return wire.AgentNews(heartbeat=wire.Heartbeat(number=number, node=node()))


def test_who_was_revoked_stays_so_whoever_leads(tmp_path: Path, postgres_url: str) -> None:
    replicas = Replicas(tmp_path, postgres_url, "--tls-self-signed", only_joined=True)
    try:
        agent = replicas.joined_agent("m1")
        job = submitted(replicas, "echo up; sleep 60")
        replicas.says(job, "up")

        def refused_by(server: Replica) -> bool:
            lines = agent.log.read_text().splitlines()
            return any(server.target in line and "was revoked" in line for line in lines)

        replicas.client.revoke_agent("m1")  # By the one that stands by.
        eventually(lambda: refused_by(replicas.one), "the agent to be refused")
        replicas.one.stop()
        replicas.until_other_leads()
        eventually(lambda: refused_by(replicas.other), "the agent to be refused by the other, too")
        assert [one.state for one in replicas.client.agents()] == [AgentState.REVOKED]
        assert "m1" not in replicas.ready_nodes()
    finally:
        replicas.remove()


def test_a_folder_that_is_not_shared_is_noticed_at_the_start(tmp_path: Path, postgres_url: str) -> None:
    one = Replica(tmp_path / "one", postgres_url, None)
    one.start()
    try:
        lost = Replica(tmp_path / "lost", postgres_url, tmp_path / "elsewhere")
        assert lost.launch(*lost._flags, "--port", "0").wait(PATIENCE_S) == 1
        told = lost.log.read_text().splitlines()[-1]
        assert f"server.files: {tmp_path}/elsewhere isn't the folder" in told
        # As the text says: on purpose, it can go on with another folder.
        marker, _, file = told.rpartition("echo ")[2].partition(" > ")
        Path(file).write_text(marker)
        lost.start()
        assert lost.status == "standby"
        lost.remove()
    finally:
        one.remove()
