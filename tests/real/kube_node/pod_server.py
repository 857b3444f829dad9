"""`rota server` whose jobs are pods of real nodes, and who watches which pods there ever were."""

from __future__ import annotations

import http.client
import ssl
import threading
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from msgspec import json

from rota.api.jobs import AttemptDocument
from tests.real.kube.cluster import TOKENS
from tests.real.kube_node.api import Api, NodesAccess, Object
from tests.real.kube_node.images import BUSYBOX
from tests.real.server.rota_server import RotaServer, eventually, shell

RUNNER = "runner"
SOON_LOST = 'lost_after = "2s"'
SMALL = {"cpu": "50m", "memory": "32Mi"}


def in_pod(script: str, **fields: Any) -> dict[str, Any]:
    """A job as `shell` makes them, in a pod that takes little."""
    return shell(script, **{"image": BUSYBOX, "resources": SMALL, "time_limit": "5m", **fields})


class PodServer(RotaServer):
    """In a namespace of its own; what it leaves there can be asked for."""

    def __init__(self, home: Path, nodes: NodesAccess, settings: str = SOON_LOST) -> None:
        """`settings`: further lines of its backend's."""
        self.nodes = nodes
        self.api: Api = nodes.api
        self.namespace = self.api.new_namespace()
        config = home / "rota.toml"
        home.mkdir(parents=True)
        config.write_text(
            '[server.limits]\nupload = "300MiB"\n[backends.pods]\n'
            f"kubeconfig = {json.encode(nodes.kubeconfig).decode()}\n"
            f'namespace = "{self.namespace}"\n'
            f'support_image = "{BUSYBOX}"\n'
            f'pull_within = "4s"\n{settings}\n'
        )
        super().__init__(home, "--config", str(config))

    def pods_of(self, job: str) -> list[Object]:
        return [
            pod
            for pod in self.api.pods(self.namespace)
            if pod["metadata"]["labels"].get("act.nektos.com/job") == job
        ]

    def pod_of(self, job: str) -> Object:
        """Once there is one; there is never more than one."""

        def find() -> Object | None:
            found = self.pods_of(job)
            assert len(found) <= 1, [pod["metadata"]["name"] for pod in found]
            return found[0] if found else None

        return eventually(find, f"a pod of job {job}")

    def last_attempt(self, job: str) -> AttemptDocument:
        return self.client.job(job).attempts[-1]

    def left(self) -> list[str]:
        """Of jobs, in its namespace."""
        found = []
        for kind in ("pods", "secrets", "services"):
            items = self.api.ask("GET", f"/api/v1/namespaces/{self.namespace}/{kind}")["items"]
            found += [f"{kind} {item['metadata']['name']}" for item in items]
        return found

    def leaves_nothing(self) -> None:
        eventually(lambda: not self.left(), f"nothing to be left, but there is {self.left()}")

    def remove(self) -> None:
        super().remove()
        self.api.end_pods(self.namespace)


class PodWatch:
    """All pods that there ever were in a namespace while it is open. Where the watch breaks, it goes on from
    the last change that was seen."""

    def __init__(self, nodes: NodesAccess, namespace: str) -> None:
        self._nodes = nodes
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._version: str = nodes.api.ask("GET", self._path)["metadata"]["resourceVersion"]
        self._jobs: dict[str, str] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def of(self, job: str) -> list[str]:
        """Their uids."""
        return [uid for uid, whose in list(self._jobs.items()) if whose == job]

    def _watch(self) -> None:
        tls = ssl.create_default_context(cadata=self._nodes.cluster.ca_pem)
        address = urlsplit(self._nodes.cluster.server).netloc
        token = {"Authorization": f"Bearer {TOKENS['admin'][0]}"}
        while not self._is_over.is_set():
            # It ends each second, so that nobody has to wait for a thread that reads.
            path = f"{self._path}?watch=true&timeoutSeconds=1&resourceVersion={self._version}"
            connection = http.client.HTTPSConnection(address, context=tls, timeout=60)
            with suppress(OSError, http.client.HTTPException), closing(connection):
                connection.request("GET", path, headers=token)
                self._read(connection.getresponse())

    def _read(self, answer: http.client.HTTPResponse) -> None:
        while line := answer.readline():
            event = json.decode(line)
            if event["type"] == "ERROR":
                return
            metadata = event["object"]["metadata"]
            self._version = metadata["resourceVersion"]
            self._jobs[metadata["uid"]] = metadata.get("labels", {}).get("act.nektos.com/job", "")
