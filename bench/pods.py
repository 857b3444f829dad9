"""Jobs as pods of real nodes, beside `kubectl create` of the same pods: `make bench-pods`.

- Rota: an array of `true`, from the request until the last has ended and that is kept.
- the same pods: what Rota made, created by kubectl and placed by kube-scheduler, until the last runner has
  ended.
- plain pods: one container each, without what a job has around it; until the last has ended.

All run on two real nodes of this machine, one after the other, in namespaces of their own. PODS for fewer,
RUNS for more: the best counts, and they take turns.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import json

from bench.harness import Result, report
from bench.rota_server import MoreSettings, running
from rota.backends.kubernetes.objects import JOB_PODS, JobPod
from rota.kube.api.client import Client, Selection
from rota.kube.api.informer import Informer
from tests.real.kube_node.api import NodesAccess, Object
from tests.real.kube_node.images import BUSYBOX
from tests.real.kube_node.node_cluster import NodeCluster

PODS = int(os.environ.get("PODS", "200"))
RUNS = int(os.environ.get("RUNS", "1"))
PATIENCE_S = 1_800.0
AMOUNTS = {"cpu": "5m", "memory": "8Mi"}
"""So little that all of them fit at once: what is measured is the way to a pod and back."""
_LOOK_S = 0.2


class Ours(NamedTuple):
    seconds: float
    cpu_ms: float
    """Of the server, a pod."""
    pod: Object
    """One of those that it made: all are alike."""


def rota(nodes: NodesAccess) -> Ours:
    api = nodes.api
    namespace = api.new_namespace()
    backend = (
        f'[backends.pods]\nkubeconfig = "{nodes.kubeconfig}"\nnamespace = "{namespace}"\n'
        f'support_image = "{BUSYBOX}"\n'
    )
    job = {"command": ["true"], "image": BUSYBOX, "resources": AMOUNTS, "array": PODS}
    with running("pods", more=MoreSettings(others=backend)) as server, server.wire() as wire:
        _wait(lambda: len(wire.get("/v1/nodes")["items"]) > len(nodes.nodes), "the nodes to be known")
        seen = _Seen(nodes, namespace)
        used_s = server.cpu_s()
        start_s = time.perf_counter()
        wire.post("/v1/jobs", {"jobs": [job]})
        _wait(lambda: wire.get("/v1/stats")["finished"] >= PODS, "all jobs to end")
        seconds = time.perf_counter() - start_s
        cpu_ms = 1000 * (server.cpu_s() - used_s) / PODS
        failed = wire.get("/v1/jobs?phase=failed,cancelled,timed-out&limit=1")["items"]
        if failed:
            raise SystemExit(f"a job failed: {failed[0]}")
        pod = seen.pod()
    api.end_pods(namespace)
    return Ours(seconds, cpu_ms, pod)


class _Seen:
    """Looks for one pod while they come and go."""

    def __init__(self, nodes: NodesAccess, namespace: str) -> None:
        self._nodes, self._namespace = nodes, namespace
        self._found: list[Object] = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods?limit=1"
        while not self._found:
            time.sleep(_LOOK_S)
            self._found = self._nodes.api.ask("GET", path)["items"]

    def pod(self) -> Object:
        self._thread.join(PATIENCE_S)
        return self._found[0]


def kubectl(nodes: NodesAccess, pod: Object, container: str) -> float:
    """Seconds from the call of kubectl until that container of the last pod has ended."""
    api = nodes.api
    namespace = api.new_namespace()
    file = f"/tmp/rota-bench-pods-{os.getpid()}.json"
    try:
        with open(file, "wb") as written:
            written.write(json.encode({"apiVersion": "v1", "kind": "List", "items": list(_copies(pod))}))
        seconds = asyncio.run(_created(nodes, namespace, file, container))
    finally:
        os.unlink(file)
    api.end_pods(namespace)
    return seconds


def _copies(pod: Object) -> Iterator[Object]:
    """Placed by kube-scheduler."""
    left_out = ("nodeName", "serviceAccount", "serviceAccountName", "priority", "preemptionPolicy")
    spec = {name: value for name, value in pod["spec"].items() if name not in left_out}
    for number in range(PODS):
        metadata = {"name": f"pod-{number}", "labels": pod["metadata"].get("labels", {})}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def _created(nodes: NodesAccess, namespace: str, file: str, container: str) -> float:
    ended: set[str] = set()
    all_ended = asyncio.Event()

    def shown(old: JobPod | None, new: JobPod | None) -> None:
        if new is not None and new.state(container).terminated is not None:
            ended.add(new.metadata.name or "")
            if len(ended) == PODS:
                all_ended.set()

    async with Client(nodes.cluster.access()) as client:
        informer = Informer(client, JOB_PODS, Selection(namespace))
        informer.subscribe(shown)
        watching = asyncio.create_task(informer.run())
        try:
            start_s = time.perf_counter()
            words = (nodes.kubectl, f"--kubeconfig={nodes.kubeconfig}", "-n", namespace, "create", "-f", file)
            process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.DEVNULL)
            if await process.wait() != 0:
                raise SystemExit("kubectl create failed")
            async with asyncio.timeout(PATIENCE_S):
                await all_ended.wait()
            return time.perf_counter() - start_s
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


def plain() -> Object:
    resources = {"requests": AMOUNTS}
    container = {"name": "main", "image": BUSYBOX, "command": ["true"], "resources": resources}
    return {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}


def measured(nodes: NodesAccess) -> Iterator[Result]:
    ours: list[Ours] = []
    same: list[float] = []
    alone: list[float] = []
    for _ in range(RUNS):
        ours.append(rota(nodes))
        print(f"Rota: {ours[-1].seconds:.1f} s", file=sys.stderr, flush=True)
        same.append(kubectl(nodes, ours[-1].pod, "runner"))
        print(f"kubectl, the same pods: {same[-1]:.1f} s", file=sys.stderr, flush=True)
        alone.append(kubectl(nodes, plain(), "main"))
        print(f"kubectl, plain pods: {alone[-1]:.1f} s", file=sys.stderr, flush=True)
    case = f"{PODS} pods of `true` on {len(nodes.nodes)} real nodes"
    metric = "s from submit to done"
    best_s = min(one.seconds for one in ours)
    yield Result(case, metric, False, best_s, min(same), "kubectl create of the same pods", "≥ 0.91")
    yield Result(case, metric, False, best_s, min(alone), "kubectl create of plain pods", "")
    yield Result(
        case, "ms of the server's CPU a pod", False, min(one.cpu_ms for one in ours), 3.0, "goal", ""
    )


def _wait(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {what}")
        # Not often: answering is work that is taken from the pods.
        time.sleep(_LOOK_S)


def main() -> None:
    with NodeCluster() as cluster:
        report("pods", list(measured(cluster.access)), {"kubernetes": cluster.version})


if __name__ == "__main__":
    main()
