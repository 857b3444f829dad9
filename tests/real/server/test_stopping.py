"""Services that are told to stop say so in few words, whatever they are at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import PATIENCE_S, RotaServer, eventually, shell

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: nowhere
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
users: [{name: nobody, user: {}}]
"""


class Foreground:
    """A service as a terminal starts it: signals go to all of its processes."""

    def __init__(self, server: RotaServer, words: Sequence[str], before: Sequence[str] = ()) -> None:
        self._log = server.home / f"{words[0]}-{len(list(server.home.iterdir()))}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*before, sys.executable, "-m", "rota", *words],
                env={**server.environment, "ROTA_LOGS_FORMAT": "text"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def says(self, text: str) -> None:
        def find() -> bool:
            assert self._process.poll() is None, self._log.read_text()
            return text in self._log.read_text()

        eventually(find, f"it to say {text}")

    def lines(self) -> list[str]:
        return self._log.read_text().splitlines()

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self._process.pid, number)

    def status(self) -> int:
        return self._process.wait(PATIENCE_S)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("times", [1, 2])
def test_a_server_with_jobs_that_run_and_wait_stops_in_three_lines(
    new_server: NewServer, number: signal.Signals, times: int
) -> None:
    server = new_server()
    server.stop()
    foreground = Foreground(server, ["server", "--port", str(server._port)])
    foreground.says("server.ready")
    running, *_ = server.submit(*[shell("sleep 600", resources={"cpu": server.cpus})] * 30)
    server.started(running)
    before = len(foreground.lines())
    for _ in range(times):
        foreground.signal(number)
    assert foreground.status() == 0
    [*_, last] = said = foreground.lines()[before:]
    assert len(said) <= 3, said
    assert "Running tasks go on, and its next start finds them again" in last
    assert "running=1" in last
    server.start()
    assert [attempt.ended for attempt in server.client.job(running).attempts] == [None]


def test_a_server_in_the_background_doesnt_hear_ctrl_c(new_server: NewServer) -> None:
    """A shell without job control starts it so, and SIGTERM is for it."""
    server = new_server()
    server.stop()
    ignoring = ["sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"]
    foreground = Foreground(server, ["server", "--port", str(server._port)], ignoring)
    foreground.says("server.ready")
    foreground.signal(signal.SIGINT)
    assert server.client.me().user
    assert foreground.is_running
    foreground.signal(signal.SIGTERM)
    assert foreground.status() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", ["agent", "scheduler", "kube-scheduler"])
def test_other_services_stop_in_three_lines(
    new_server: NewServer, tmp_path: Path, what: str, number: signal.Signals
) -> None:
    server = new_server("--agents", "unix")
    tokens, kubeconfig = tmp_path / "tokens", tmp_path / "kubeconfig"
    tokens.write_text(f"ci {'t' * 43}\n")
    tokens.chmod(0o600)
    kubeconfig.write_text(KUBECONFIG)
    words, ready = {
        "agent": (["agent", "--server", "unix", "--name", "builder"], "agent.connected"),
        "scheduler": (
            [
                *("scheduler", "--tokens", str(tokens), "--agents", f"unix:{tmp_path}/agents.sock"),
                *("--controllers", "127.0.0.1:0", "--rest", "127.0.0.1:0"),
            ],
            "scheduler.ready",
        ),
        "kube-scheduler": (
            ["kube-scheduler", "--kubeconfig", str(kubeconfig), "--metrics-bind-address", "0"],
            "kube.watch_interrupted",
        ),
    }[what]
    foreground = Foreground(server, words)
    foreground.says(ready)
    before = len(foreground.lines())
    foreground.signal(number)
    foreground.signal(number)
    assert foreground.status() == 0
    said = [line for line in foreground.lines()[before:] if "kube.watch_interrupted" not in line]
    assert 1 <= len(said) <= 3, said
    assert any("is stopping" in line for line in said), said
    assert not any("Traceback" in line for line in said)


def test_an_agent_that_needs_no_certificate_is_listed_while_it_works(new_server: NewServer) -> None:
    server = new_server("--agents", "unix")
    agent = Foreground(server, ["agent", "--server", "unix", "--name", "builder"])
    agent.says("agent.connected")
    try:
        [one] = server.client.agents()
        assert (one.name, one.state.value, one.joined, one.expires) == ("builder", "connected", None, None)
        listed = server.cli("agent", "ls")
        assert "builder" in listed
        assert "needs none" in listed
    finally:
        agent.signal(signal.SIGINT)
        assert agent.status() == 0
