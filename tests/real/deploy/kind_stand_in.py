"""Stands in for kind where there is no registry for its node image, and takes kind's arguments.

The control plane is a real one. In place of nodes with containers, a process says of every pod that it runs,
and really runs the schedulers among them. STAND_IN names the folder that it keeps."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from msgspec import json

from rota.kube.api.client import Client
from rota.kube.api.errors import NotFound
from rota.kube.api.resources import NODES, PODS
from rota.kube_objects.objects.pods import Pod
from tests.real.kube.cluster import TOKENS, Cluster
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.manifests import NAME, NAMESPACE, new_token
from tests.real.kube.processes import Schedulers

ROOT = Path(__file__).parents[3]
READY_WITHIN_S = 120
_ROOM = {"cpu": "4", "memory": "8Gi", "pods": "110"}
_CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


def main(words: Sequence[str]) -> int:
    folder = Path(os.environ["STAND_IN"])
    match words:
        case ["get", "clusters"]:
            print("\n".join(file.stem for file in folder.glob("*.cluster")))
        case ["create", "cluster", "--name", name, "--wait", _, "--config", "-"]:
            _create(folder, name, yaml.safe_load(sys.stdin))
        case ["load", "docker-image", "--name", name, image]:
            assert (folder / f"{name}.cluster").exists()
            with (folder / "images").open("a") as images:
                print(image, file=images)
        case ["delete", "cluster", "--name", name]:
            _delete(folder / f"{name}.cluster")
        case ["serve", name, *roles]:
            asyncio.run(_serve(folder, name, roles))
        case _:
            print(f"the stand-in for kind doesn't know {words}", file=sys.stderr)
            return 1
    return 0


def _create(folder: Path, name: str, config: dict[str, Any]) -> None:
    """kind's own kubeconfig names the context kind-NAME."""
    assert (config["kind"], config["apiVersion"]) == ("Cluster", "kind.x-k8s.io/v1alpha4")
    with (folder / "log").open("ab") as log:
        serving = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "serve", name, *(node["role"] for node in config["nodes"])],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + READY_WITHIN_S
    while not (folder / f"{name}.cluster").exists():
        if serving.poll() is not None or time.monotonic() > deadline:
            raise AssertionError((folder / "log").read_text())
        time.sleep(0.05)
    serving.returncode = 0  # It goes on without us.


def _delete(known: Path) -> None:
    if known.exists():
        os.kill(int(known.read_text()), signal.SIGTERM)
        while known.exists():
            time.sleep(0.05)


async def _serve(folder: Path, name: str, roles: Sequence[str]) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    with ControlPlane() as control_plane:
        # Those that look after nodes would miss their heartbeats.
        control_plane.start_controller_manager(
            "--controllers=deployment-controller,replicaset-controller,job-controller,serviceaccount-controller"
        )
        control_plane.start_scheduler()
        cluster = control_plane.cluster
        schedulers = Schedulers(folder, cluster)
        async with Client(cluster.access()) as client:
            await _add_nodes(client, name, roles)
            _write_kubeconfig(cluster, name)
            known = folder / f"{name}.cluster"
            known.write_text(str(os.getpid()))
            kubelet = asyncio.create_task(_play_kubelet(client, schedulers))
            await ended.wait()
            kubelet.cancel()
        schedulers.end()
    known.unlink()


async def _add_nodes(client: Client, name: str, roles: Sequence[str]) -> None:
    workers = 0
    for role in roles:
        node = f"{name}-{role}{workers + 1 if role == 'worker' and workers else ''}"
        workers += role == "worker"
        ready = [{"type": "Ready", "status": "True"}]
        status = {"capacity": _ROOM, "allocatable": _ROOM, "conditions": ready}
        await client.create(NODES, {"metadata": {"name": node}, "status": status})
        # Every new node has a taint, until a controller has seen that it is ready.
        taints = [_CONTROL_PLANE] if role == "control-plane" else []
        await client.patch(NODES, node, {"spec": {"taints": taints}})


def _write_kubeconfig(cluster: Cluster, name: str) -> None:
    config = cluster.kubeconfig({"token": TOKENS["admin"][0]})
    config["contexts"][0]["name"] = config["current-context"] = f"kind-{name}"
    Path(os.environ["KUBECONFIG"]).write_bytes(json.encode(config))


async def _play_kubelet(client: Client, schedulers: Schedulers) -> None:
    started: set[str] = set()
    while True:
        for pod in await client.list_all(PODS):
            if pod.spec is not None and pod.spec.node_name:
                await _look_after(client, pod, schedulers, started)
        await asyncio.sleep(0.2)


async def _look_after(client: Client, pod: Pod, schedulers: Schedulers, started: set[str]) -> None:
    uid, labels = pod.metadata.uid or "", pod.metadata.labels or {}
    if uid not in started:
        started.add(uid)
        if pod.metadata.namespace == NAMESPACE:
            # Both replicas are on this machine, where a port is there once.
            token = await new_token(client, NAME, NAMESPACE)
            schedulers.start("--metrics-bind-address", "0", token=token, namespace=NAMESPACE)
        await _say(client, pod, "Running")
    elif "job-name" in labels and pod.status is not None and pod.status.phase == "Running":
        await _say(client, pod, "Succeeded")


async def _say(client: Client, pod: Pod, phase: str) -> None:
    is_ready = "True" if phase == "Running" else "False"
    conditions = [{"type": kind, "status": is_ready} for kind in ("Ready", "ContainersReady", "Initialized")]
    told = {"status": {"phase": phase, "conditions": conditions}}
    with suppress(NotFound):  # deleted meanwhile
        await client.patch_status(PODS, pod.metadata.name or "", told, pod.metadata.namespace or "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
