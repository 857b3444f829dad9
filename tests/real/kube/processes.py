"""`rota kube-scheduler` as processes, each with what its account shows; none of them is left running."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from msgspec import json

from tests.real.kube.cluster import TOKENS, Cluster
from tests.real.kube.control_plane import dying_with_us


class Schedulers:
    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self._folder = folder
        self._cluster = cluster
        self._all: list[subprocess.Popen[bytes]] = []

    def command(
        self, *options: str, token: str = TOKENS["admin"][0], namespace: str = "default"
    ) -> list[str]:
        """`namespace`: where its lease is."""
        config = self._cluster.kubeconfig({"token": token})
        config["contexts"][0]["context"]["namespace"] = namespace
        file = self._folder / f"{len(self._all)}.kubeconfig"
        file.write_bytes(json.encode(config))
        return [sys.executable, "-m", "rota", "kube-scheduler", "--kubeconfig", str(file), *options]

    def start(
        self, *options: str, token: str = TOKENS["admin"][0], namespace: str = "default"
    ) -> subprocess.Popen[bytes]:
        command = self.command(*options, token=token, namespace=namespace)
        with open(self._folder / f"scheduler-{len(self._all)}.log", "wb") as log:
            self._all.append(
                subprocess.Popen(
                    [*dying_with_us(), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            )
        return self._all[-1]

    def logs(self) -> str:
        files = sorted(self._folder.glob("scheduler-*.log"))
        return "\n".join(f"{file.name}:\n{file.read_text(errors='replace')}" for file in files)

    def end(self) -> None:
        for one in self._all:
            one.kill()
            one.wait()
