"""Replicas as processes that are killed, frozen and ended; and an API server that is away for a while."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import json

from rota.kube.api.leader import since_boot_s
from tests.real.kube.cluster import Cluster
from tests.real.kube.conftest import new_namespace
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.replica import TIMES

pytestmark = [pytest.mark.covers("kube-6"), pytest.mark.slow]

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


class Replica:
    def __init__(self, folder: Path, namespace: str, identity: str) -> None:
        self._said = folder / identity
        self._said.touch()
        arguments = [str(folder / "cluster"), namespace, identity, str(self._said)]
        with open(folder / f"{identity}.log", "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.real.kube.replica", *arguments],
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def led_at(self) -> list[float]:
        return [
            float(line) for line in self._said.read_text().splitlines(keepends=True) if line.endswith("\n")
        ]

    def leads_since(self, since_s: float) -> bool:
        return any(moment > since_s for moment in self.led_at())


class Replicas:
    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self._folder = folder
        self._namespace = new_namespace(cluster)
        self._all: list[Replica] = []
        (folder / "cluster").write_bytes(json.encode(cluster))

    def start(self) -> Replica:
        made = Replica(self._folder, self._namespace, f"replica-{len(self._all)}")
        self._all.append(made)
        return made

    def never_two(self) -> None:
        """Of the moments of all, in order: each change of who leads is a change for good, or back."""
        moments = sorted((moment, index) for index, one in enumerate(self._all) for moment in one.led_at())
        terms: list[int] = []
        for _, index in moments:
            if not terms or terms[-1] != index:
                terms.append(index)
        assert len(terms) <= len(self._all), f"they took turns: {terms}"

    def end(self) -> None:
        for one in self._all:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def replicas(cluster: Cluster, tmp_path: Path) -> Iterator[Replicas]:
    made = Replicas(tmp_path, cluster)
    yield made
    made.end()


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_leader_that_is_killed(replicas: Replicas) -> None:
    first = replicas.start()
    until(lambda: first.leads_since(0))
    second = replicas.start()
    time.sleep(1)
    first.process.kill()
    until(lambda: second.leads_since(0))
    assert min(second.led_at()) - max(first.led_at()) >= TIMES.length_s - TIMES.given_up_after_s
    replicas.never_two()


def test_a_leader_that_is_frozen(replicas: Replicas) -> None:
    first = replicas.start()
    until(lambda: first.leads_since(0))
    second = replicas.start()
    first.process.send_signal(signal.SIGSTOP)
    until(lambda: second.leads_since(0))
    woken_s = since_boot_s()
    first.process.send_signal(signal.SIGCONT)
    time.sleep(2 * TIMES.retry_s)
    assert not first.leads_since(woken_s), "not even for a moment"
    assert second.leads_since(woken_s)
    replicas.never_two()


def test_a_leader_that_ends_in_order(replicas: Replicas) -> None:
    first = replicas.start()
    until(lambda: first.leads_since(0))
    second = replicas.start()
    time.sleep(1)
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(PATIENCE_S) == 0
    until(lambda: second.leads_since(0))
    replicas.never_two()


def test_an_api_server_that_is_away(breakable: ControlPlane, tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, breakable.cluster)
    try:
        only = replicas.start()
        until(lambda: only.leads_since(0))
        breakable.stop_api_server()
        gone_s = since_boot_s()
        time.sleep(TIMES.length_s)
        assert max(only.led_at()) - gone_s < TIMES.given_up_after_s
        breakable.start_api_server()
        back_s = since_boot_s()
        until(lambda: only.leads_since(back_s))
    finally:
        replicas.end()
