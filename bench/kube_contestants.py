"""Who binds the pods: kube-scheduler, Rota, or a binder that decides nothing, each a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Protocol

import aiohttp
from msgspec import json

from bench.kube_stage import Crowd, Stage
from bench.null_binder import Pairs
from tests.real.kube.control_plane import free_ports, programs

_LOOK_S = 0.01
_READY_WITHIN_S = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Contestant(Protocol):
    name: str
    """As pods give it."""

    async def begin(self, stage: Stage, crowd: Crowd) -> float:
        """Starts it; answers when it knew the cluster and began to decide."""
        ...

    def cpu_s(self) -> float:
        """Since it was started."""
        ...

    def end(self) -> None: ...


class KubeScheduler:
    name = "default-scheduler"

    async def begin(self, stage: Stage, crowd: Crowd) -> float:
        self._plane = stage.plane
        [port] = free_ports(1)
        with tempfile.TemporaryDirectory() as certificates:
            stage.plane.start_scheduler(
                f"--secure-port={port}",
                "--bind-address=127.0.0.1",
                f"--cert-dir={certificates}",
                # No limit of its own.
                "--kube-api-qps=1000000",
                "--kube-api-burst=1000000",
            )
            return await _ready(f"https://127.0.0.1:{port}/readyz")

    def cpu_s(self) -> float:
        return _cpu_s(self._plane.pid("kube-scheduler"))

    def end(self) -> None:
        self._plane.stop_scheduler()


class Rota:
    name = "batch-scheduler"

    async def begin(self, stage: Stage, crowd: Crowd) -> float:
        [port] = free_ports(1)
        self._process = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "rota",
                    "kube-scheduler",
                    "--kubeconfig",
                    str(stage.plane.kubeconfig()),
                ),
                *("--no-leader-elect", "--metrics-bind-address", f"127.0.0.1:{port}"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return await _ready(f"http://127.0.0.1:{port}/readyz")

    def cpu_s(self) -> float:
        return _cpu_s(self._process.pid)

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)


class NullBinder:
    name = "nobody"

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes

    async def begin(self, stage: Stage, crowd: Crowd) -> float:
        """As a round-robin would place them."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.null_binder", str(stage.plane.kubeconfig())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        await asyncio.to_thread(self._process.stdout.readline)
        nodes = {name: f"node-{at % self._nodes:05}" for at, name in enumerate(crowd.names)}
        line = json.encode(Pairs(crowd.namespace, nodes)) + b"\n"
        began_s = monotonic()
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return began_s

    def cpu_s(self) -> float:
        return _cpu_s(self._process.pid)

    def end(self) -> None:
        self._process.communicate(timeout=60)


def kubernetes_version() -> str:
    """ "Kubernetes v1.34.4": its last word."""
    said = subprocess.run([programs() / "kube-scheduler", "--version"], capture_output=True, text=True)
    return said.stdout.split()[-1]


async def _ready(url: str) -> float:
    """When it was asked for the first time to which it answered that it is."""
    deadline_s = monotonic() + _READY_WITHIN_S
    # Its certificate is its own, made a moment ago.
    tls = ssl._create_unverified_context()
    async with aiohttp.ClientSession() as session:
        while (asked_s := monotonic()) < deadline_s:
            try:
                async with session.get(url, ssl=tls) as answer:
                    if answer.status == 200:
                        # It may have begun to decide before it answered.
                        return asked_s
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(_LOOK_S)
    raise TimeoutError(f"{url} isn't ready")


def _cpu_s(pid: int) -> float:
    """Of all its threads. It may have ended: its parent, we, hasn't asked for it yet."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
