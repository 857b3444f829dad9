"""Agents and servers that are killed, frozen and started again: nothing is lost, and nothing runs twice."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from rota.backends.agents.terms import Terms
from rota.lifecycle.state import EndReason, Phase
from tests.real.agents.fleet import IMPATIENT_S, Fleet, cpus
from tests.real.agents.told import assert_whole, until
from tests.real.server.rota_server import eventually, shell

pytestmark = pytest.mark.slow


@pytest.mark.covers("agent-5", "job-3")
def test_an_agent_that_is_killed_finds_its_tasks_again(fleet: Fleet, tmp_path: Path) -> None:
    agent = fleet.agent("a")
    told = tmp_path / "told"
    job = fleet.server.submit_one(shell(until(told)))
    fleet.server.says(job, "line 5")
    for _ in range(2):
        agent.kill()
        time.sleep(0.3)
        agent.start()
        written = len(fleet.server.output(job).splitlines())
        fleet.server.says(job, f"line {written + 20}")
    told.touch()
    assert fleet.server.over(job).phase is Phase.FAILED
    assert_whole(fleet.server.output(job))
    [attempt] = fleet.server.client.job(job).attempts
    assert attempt.exit_code == 4


@pytest.mark.covers("agent-5", "job-3")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_starts_anew_finds_agents_and_tasks(
    fleet: Fleet, tmp_path: Path, how: signal.Signals
) -> None:
    for name in ("a", "b"):
        fleet.agent(name)
    told = tmp_path / "told"
    running = fleet.server.submit(*(shell(until(told), resources={"cpu": 1}) for _ in range(3)))
    for job in running:
        fleet.server.says(job, "line 5")
    waiting = fleet.server.submit(*(shell("true", resources={"cpu": 2}) for _ in range(3)))
    fleet.server.stop(how)
    time.sleep(0.5)
    fleet.server.start()
    fleet.until_ready("a", "b")
    told.touch()
    for job in running:
        assert fleet.server.over(job).phase is Phase.FAILED
        assert_whole(fleet.server.output(job))
        assert [one.exit_code for one in fleet.server.client.job(job).attempts] == [4]
    for job in waiting:
        assert fleet.server.over(job).phase is Phase.SUCCEEDED
        assert len(fleet.server.client.job(job).attempts) == 1


@pytest.mark.covers("agent-5")
def test_an_end_that_comes_while_the_server_is_away_counts(fleet: Fleet, tmp_path: Path) -> None:
    fleet.agent("a")
    told = tmp_path / "told"
    job = fleet.server.submit_one(shell(until(told)))
    fleet.server.says(job, "line 5")
    fleet.server.kill()
    told.touch()
    time.sleep(0.5)
    fleet.server.start()
    assert fleet.server.over(job).phase is Phase.FAILED
    assert_whole(fleet.server.output(job))
    assert [one.exit_code for one in fleet.server.client.job(job).attempts] == [4]


def beating(folder: Path) -> str:
    """Says whenever it is alive; the second attempt ends."""
    return (
        f"if [ -e {folder}/first ]; then date +%s%N > {folder}/second; exit 0; fi; touch {folder}/first; "
        f"trap '' TERM; echo up; while :; do date +%s%N > {folder}/beat.new; "
        f"mv {folder}/beat.new {folder}/beat; sleep 0.02; done"
    )


@pytest.mark.covers("agent-6", "job-6")
@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_tasks_of_an_agent_that_is_gone_end_and_then_run_elsewhere(
    impatient: Fleet, tmp_path: Path, how: signal.Signals
) -> None:
    for name in ("a", "b"):
        impatient.agent(name)
    job = impatient.server.submit_one(shell(beating(tmp_path), grace="30s"))
    impatient.server.says(job, "up")
    gone = impatient.agent_of(job)
    name = impatient.node_of(job)
    gone.send(how)
    began = time.monotonic()
    assert impatient.server.over(job).phase is Phase.SUCCEEDED
    given_up_s = Terms(int(1000 * IMPATIENT_S)).given_up_after_ms / 1000
    assert time.monotonic() - began >= given_up_s - 0.5
    first, second = impatient.server.client.job(job).attempts
    assert (first.node, first.reason) == (name, EndReason.LOST)
    assert second.node != name
    # The first was gone before the second began, though it had a long grace and nobody to end it.
    assert int((tmp_path / "beat").read_text()) < int((tmp_path / "second").read_text())
    assert impatient.events("agent.Lost") == [{"tasks": 1, "after_s": given_up_s}]
    if how is signal.SIGSTOP:
        gone.send(signal.SIGCONT)
    else:
        gone.start()
    impatient.until_ready("a", "b")
    again = impatient.server.run(shell("echo fine", node_selector={"host": name}))
    assert again.phase is Phase.SUCCEEDED
    first, second = impatient.server.client.job(job).attempts
    assert first.fence < second.fence


@pytest.mark.covers("agent-6")
def test_an_agent_that_is_not_heard_of_gets_nothing_new(impatient: Fleet) -> None:
    agent = impatient.agent("a")
    agent.send(signal.SIGSTOP)
    eventually(lambda: "a" not in impatient.ready_nodes(), "the agent to be missed")
    job = impatient.server.submit_one(shell("echo ran"))
    agent.send(signal.SIGCONT)
    assert impatient.server.over(job).phase is Phase.SUCCEEDED
    assert len(impatient.server.client.job(job).attempts) == 1


@pytest.mark.covers("job-3")
def test_tasks_of_agents_that_never_come_back_after_a_restart_run_elsewhere(
    impatient: Fleet, tmp_path: Path
) -> None:
    impatient.agent("a")
    job = impatient.server.submit_one(shell(beating(tmp_path)))
    impatient.server.says(job, "up")
    impatient.server.kill()
    impatient.agents["a"].kill()
    impatient.server.start()
    impatient.agent("b")
    assert impatient.server.over(job).phase is Phase.SUCCEEDED
    assert [one.node for one in impatient.server.client.job(job).attempts] == ["a", "b"]
    assert int((tmp_path / "beat").read_text()) < int((tmp_path / "second").read_text())


@pytest.mark.covers("agent-2")
def test_a_machine_that_is_busy_is_not_lost(impatient: Fleet) -> None:
    """Heartbeats have a thread of their own, and a connection that no output goes over."""
    impatient.agent("a")
    burn = f"for i in $(seq {4 * cpus()}); do (while :; do :; done) & done; "
    flood = f"timeout {2 * IMPATIENT_S:g} yes; kill 0"
    job = impatient.server.submit_one(shell(burn + flood, resources={"cpu": 1}))
    ended = impatient.server.over(job)
    assert ended.phase is Phase.FAILED
    assert len(impatient.server.client.job(job).attempts) == 1
    assert impatient.events("agent.Lost") == []
