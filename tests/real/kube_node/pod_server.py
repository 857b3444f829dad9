"""`rota server` whose jobs are pods of real nodes, and who watches which pods there ever were."""

from __future__ import annotations

import http.client
import ssl
import threading
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
    """All pods that there ever were in a namespace while it is open."""

    def __init__(self, nodes: NodesAccess, namespace: str) -> None:
        tls = ssl.create_default_context(cadata=nodes.cluster.ca_pem)
        self._connection = http.client.HTTPSConnection(urlsplit(nodes.cluster.server).netloc, context=tls)
        self._path = f"/api/v1/namespaces/{namespace}/pods?watch=true"
        self._jobs: dict[str, str] = {}
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        token = {"Authorization": f"Bearer {TOKENS['admin'][0]}"}
        self._connection.request("GET", self._path, headers=token)
        self._answer = self._connection.getresponse()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection.sock is not None:
            self._connection.sock.shutdown(2)
        self._thread.join()
        self._connection.close()

    def of(self, job: str) -> list[str]:
        """Their uids."""
        return [uid for uid, whose in list(self._jobs.items()) if whose == job]

    def _read(self) -> None:
        try:
            while line := self._answer.readline():
                metadata = json.decode(line)["object"]["metadata"]
                self._jobs[metadata["uid"]] = metadata.get("labels", {}).get("act.nektos.com/job", "")
        except (OSError, ValueError, http.client.HTTPException):
            return
