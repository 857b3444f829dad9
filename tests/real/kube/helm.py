"""The chart, by Helm's own client: rendered, and installed in a cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from msgspec import json

from tests.real.kube.cluster import TOKENS, Cluster
from tests.real.kube.control_plane import Missing
from tests.real.kube.manifests import DEPLOY, Manifest, read

CHART = DEPLOY / "chart" / "batch-scheduler"
_SCRIPT = DEPLOY.parent / "scripts" / "helm.sh"


class Refused(Exception):
    """By Helm, in its words."""


class Helm:
    """It keeps what it keeps in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        found = subprocess.run([_SCRIPT], capture_output=True, text=True)
        if found.returncode != 0:
            raise Missing(found.stderr.strip().splitlines()[-1])
        self._program = found.stdout.strip().splitlines()[-1]
        self._folder = folder

    def lint(self) -> str:
        return self._run("lint", "--strict", str(CHART))

    def render(self, values: Manifest | None = None, *options: str) -> list[Manifest]:
        return read(self._run("template", "release", str(CHART), *self._values(values), *options))

    def install(self, cluster: Cluster, release: str, values: Manifest) -> None:
        self._run("install", release, str(CHART), *self._values(values), *self._to(cluster))

    def upgrade(self, cluster: Cluster, release: str, values: Manifest) -> None:
        self._run("upgrade", release, str(CHART), *self._values(values), *self._to(cluster))

    def uninstall(self, cluster: Cluster, release: str) -> None:
        self._run("uninstall", release, *self._to(cluster))

    def _values(self, values: Manifest | None) -> list[str]:
        file = self._folder / "values.yaml"
        file.write_bytes(json.encode(values or {}))
        return ["--values", str(file)]

    def _to(self, cluster: Cluster) -> list[str]:
        file = self._folder / "helm.kubeconfig"
        file.write_bytes(json.encode(cluster.kubeconfig({"token": TOKENS["admin"][0]})))
        file.chmod(0o600)
        return ["--kubeconfig", str(file), "--namespace", "default"]

    def _run(self, *words: str) -> str:
        environment = {**os.environ, "HOME": str(self._folder)}
        done = subprocess.run([self._program, *words], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr)
        return done.stdout
