"""Jobs on agents: as on the server's own machine, with their files, output and results."""

from __future__ import annotations

import hashlib
import signal

import pytest

from rota.lifecycle.state import Phase
from tests.real.agents.fleet import Fleet, cpus
from tests.real.server.rota_server import eventually, shell

pytestmark = pytest.mark.slow


@pytest.mark.covers("agent-1", "agent-2", "agent-7")
def test_without_an_agent_jobs_wait_and_with_one_they_run(fleet: Fleet) -> None:
    job = fleet.server.submit_one(shell("echo on $ROTA_NODE"))
    assert fleet.server.client.job(job).job.phase is Phase.PENDING
    assert list(fleet.server.client.nodes()) == []
    fleet.agent("a", "--label", "disk=fast", "--taint", "soft=yes:PreferNoSchedule")
    assert fleet.server.over(job).phase is Phase.SUCCEEDED
    assert fleet.server.output(job) == "on a\n"
    [node] = fleet.server.client.nodes()
    assert (node.name, node.backend, node.labels["disk"]) == ("a", "agents", "fast")
    assert node.taints == ["soft=yes:PreferNoSchedule"]
    assert node.capacity["cpu"] == cpus()
    assert node.capacity["memory"] > 0
    assert node.capacity["storage"] > 0
    assert fleet.events("agent.Joined")[0]["tasks"] == 0


@pytest.mark.covers("agent-1")
def test_more_tasks_than_agents_have_room_for(fleet: Fleet) -> None:
    fleet.agent("a")
    jobs = fleet.server.submit(*(shell(f"exit {number % 3}") for number in range(8 * cpus())))
    for number, job in enumerate(jobs):
        ended = fleet.server.over(job)
        assert ended.phase is (Phase.FAILED if number % 3 else Phase.SUCCEEDED)
        [attempt] = fleet.server.client.job(job).attempts
        assert attempt.exit_code == number % 3


@pytest.mark.covers("agent-3", "agent-4")
def test_files_output_and_results(fleet: Fleet) -> None:
    fleet.agent("a")
    content = bytes(range(256)) * 2000
    digest = hashlib.sha256(content).hexdigest()
    fleet.server.client.upload(content)
    script = "cat in/data; echo err >&2; mkdir out; cp in/data out/copy; exit 3"
    file = {"path": "in/data", "sha256": digest, "size": len(content)}
    ended = fleet.server.run(shell(script, files=[file], outputs=["out/copy"]))
    assert ended.phase is Phase.FAILED
    [attempt] = fleet.server.client.job(ended.id).attempts
    assert (attempt.exit_code, attempt.node) == (3, "a")
    chunks = list(fleet.server.client.logs(ended.id))
    assert b"".join(one.data for one in chunks if one.stream == "out") == content
    assert b"".join(one.data for one in chunks if one.stream == "err") == b"err\n"
    status, body, _ = fleet.server.rest("GET", f"/v1/jobs/{ended.id}/outputs/out/copy")
    assert (status, body) == (200, content)


@pytest.mark.covers("agent-3")
def test_much_output_arrives_whole(fleet: Fleet) -> None:
    fleet.agent("a")
    script = "i=0; while [ $i -lt 40 ]; do head -c 500000 /dev/zero | tr '\\0' $((i % 10)); i=$((i+1)); done"
    ended = fleet.server.run(shell(script))
    assert ended.phase is Phase.SUCCEEDED
    expected = b"".join(str(number % 10).encode() * 500_000 for number in range(40))
    data = b"".join(chunk.data for chunk in fleet.server.client.logs(ended.id))
    assert hashlib.sha256(data).digest() == hashlib.sha256(expected).digest()


@pytest.mark.covers("gang-1", "job-4")
def test_a_gang_over_two_agents(fleet: Fleet) -> None:
    for name in ("a", "b"):
        fleet.agent(name)
    says = 'echo "$ROTA_RANK of $ROTA_TASKS on $ROTA_NODE of $ROTA_HOSTS"'
    ended = fleet.server.run(shell(says, tasks=2, resources={"cpu": cpus()}))
    assert ended.phase is Phase.SUCCEEDED
    lines = sorted(fleet.server.output(ended.id).splitlines())
    hosts = sorted(attempt.node for attempt in fleet.server.client.job(ended.id).attempts)
    assert hosts == ["a", "b"]
    assert [line.split()[0] for line in lines] == ["0", "1"]
    for line in lines:
        assert line.split()[4] in hosts
        assert sorted(line.split()[6].split(",")) == hosts


def test_cancelling_stops_what_runs_there(fleet: Fleet) -> None:
    fleet.agent("a")
    job = fleet.server.submit_one(
        shell("trap 'echo ended; exit 1' TERM; echo up; while :; do sleep 0.05; done")
    )
    fleet.server.says(job, "up")
    fleet.server.client.cancel(job)
    assert fleet.server.over(job).phase is Phase.CANCELLED
    assert fleet.server.output(job).splitlines()[-1] == "ended"


@pytest.mark.covers("agent-6")
def test_an_agent_that_is_told_to_leave_waits_for_its_tasks(fleet: Fleet) -> None:
    agent = fleet.agent("a")
    told = fleet.server.home / "told"
    job = fleet.server.submit_one(shell(f"echo up; while [ ! -e {told} ]; do sleep 0.05; done"))
    fleet.server.says(job, "up")
    agent.send(signal.SIGTERM)
    eventually(lambda: "a" not in fleet.ready_nodes(), "the agent to drain")
    later = fleet.server.submit_one(shell("echo elsewhere"))
    told.touch()
    assert fleet.server.over(job).phase is Phase.SUCCEEDED
    assert agent.wait() == 0
    eventually(lambda: not list(fleet.server.client.nodes()), "the agent to be gone")
    assert fleet.server.client.job(later).job.phase is Phase.PENDING
    fleet.agent("b")
    assert fleet.server.over(later).phase is Phase.SUCCEEDED
    assert fleet.events("agent.Left")
    assert not fleet.events("agent.Lost")


def test_who_is_told_twice_leaves_at_once_and_its_tasks_go_on(fleet: Fleet) -> None:
    agent = fleet.agent("a")
    told = fleet.server.home / "told"
    job = fleet.server.submit_one(shell(f"echo up; while [ ! -e {told} ]; do sleep 0.05; done; echo down"))
    fleet.server.says(job, "up")
    for _ in range(2):
        agent.send(signal.SIGTERM)
        eventually(lambda: "a" not in fleet.ready_nodes(), "the agent to drain")
    assert agent.wait() == 0
    agent.start()
    fleet.until_ready("a")
    told.touch()
    assert fleet.server.over(job).phase is Phase.SUCCEEDED
    assert fleet.server.output(job) == "up\ndown\n"
    assert len(fleet.server.client.job(job).attempts) == 1
