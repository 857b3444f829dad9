"""The five pages, and what each of their users has beside Rota."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from msgspec import json

from tests.first_hour.play import surroundings
from tests.real.kube.cluster import TOKENS
from tests.real.kube.control_plane import ControlPlane, programs

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "docs" / "tutorials"

Arrangement = Callable[[Path], AbstractContextManager[dict[str, str]]]
"""Fills a home, and gives the environment of its terminals."""


@contextmanager
def _laptop(home: Path) -> Iterator[dict[str, str]]:
    yield surroundings(home)


@contextmanager
def _checkout(home: Path) -> Iterator[dict[str, str]]:
    """With the examples of the repository."""
    shutil.copytree(PROJECT / "examples", home / "rota" / "examples")
    yield surroundings(home)


@contextmanager
def _cluster(home: Path) -> Iterator[dict[str, str]]:
    """A cluster of nodes that are objects only, and kubectl that knows it."""
    shutil.copytree(PROJECT / "deploy", home / "rota" / "deploy")
    with ControlPlane() as control_plane:
        # The others would look after nodes, which here are nothing but objects.
        control_plane.start_controller_manager(
            "--controllers=job-controller,deployment-controller,replicaset-controller"
        )
        token, _ = TOKENS["admin"]
        kubeconfig = home / ".kube" / "config"
        kubeconfig.parent.mkdir()
        kubeconfig.write_bytes(json.encode(control_plane.cluster.kubeconfig({"token": token})))
        environment = surroundings(home)
        environment["PATH"] = f"{programs()}:{environment['PATH']}"
        _create_nodes(environment)
        yield environment


def _create_nodes(environment: Mapping[str, str]) -> None:
    """Three of four cores; the last one is a team's."""
    ready = {"type": "Ready", "status": "True"}
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [ready],
            },
        }
        for name in ("n1", "n2", "n3")
    ]
    for words, given in (
        (("create", "-f", "-"), json.encode({"apiVersion": "v1", "kind": "List", "items": nodes})),
        # Every new node has it, until a controller has seen that it is ready.
        (("taint", "nodes", "--all", "node.kubernetes.io/not-ready-"), b""),
        (("taint", "node", "n3", "team=red:NoSchedule"), b""),
    ):
        subprocess.run(["kubectl", *words], input=given, env=environment, check=True, capture_output=True)


PAGES: dict[str, Arrangement] = {
    "developer": _laptop,
    "slurm": _laptop,
    "operator": _laptop,
    "kubernetes": _cluster,
    "research": _checkout,
}
