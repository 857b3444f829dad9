"""The API server as anybody sees it: objects as JSON, and kubectl for what needs a stream both ways."""

from __future__ import annotations

import http.client
import ssl
import subprocess
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, json

from tests.real.kube.cluster import TOKENS, Cluster
from tests.real.kube_node.images import BUSYBOX

PATIENCE_S = 120.0
Object = dict[str, Any]


class NodesAccess(Struct, frozen=True):
    """How a cluster with real nodes is reached; to be handed from process to process."""

    cluster: Cluster
    kubectl: str
    kubeconfig: str
    """A file, of the admin."""
    nodes: tuple[str, ...]
    gateway: str
    """The address of this machine, as pods see it."""

    @property
    def api(self) -> Api:
        return Api(self)


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    def __init__(self, access: NodesAccess) -> None:
        self._address = urlsplit(access.cluster.server).netloc
        self._tls = ssl.create_default_context(cadata=access.cluster.ca_pem)
        self._kubectl = (access.kubectl, f"--kubeconfig={access.kubeconfig}")

    def ask_raw(self, verb: str, path: str, body: object = None, kind: str = "application/json") -> bytes:
        connection = http.client.HTTPSConnection(self._address, context=self._tls, timeout=60)
        headers = {"Authorization": f"Bearer {TOKENS['admin'][0]}", "Content-Type": kind}
        try:
            connection.request(verb, path, None if body is None else json.encode(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise Refused(answer.status, content.decode(errors="replace"))
        return content

    def ask(self, verb: str, path: str, body: object = None, kind: str = "application/json") -> Object:
        answer: Object = json.decode(self.ask_raw(verb, path, body, kind))
        return answer

    def kubectl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._kubectl, *words], capture_output=True, text=True, timeout=PATIENCE_S)

    def new_namespace(self) -> str:
        """With its account, which a controller makes."""
        name = f"test-{uuid.uuid4().hex[:12]}"
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self.wait_until(lambda: self.exists(f"/api/v1/namespaces/{name}/serviceaccounts/default"))
        return name

    def exists(self, path: str) -> bool:
        try:
            self.ask("GET", path)
        except Refused as refused:
            if refused.status != 404:
                raise
            return False
        return True

    def create_pod(self, namespace: str, name: str, script: str = "true", **spec: Any) -> Object:
        """`script`: of its only container, unless `spec` has containers of its own."""
        container = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script]}
        body = {
            "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [container], **spec},
        }
        return self.ask("POST", f"/api/v1/namespaces/{namespace}/pods", body)

    def pod(self, namespace: str, name: str) -> Object:
        return self.ask("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")

    def pods(self, namespace: str) -> list[Object]:
        found: list[Object] = self.ask("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        return found

    def delete_pod(self, namespace: str, name: str, grace_s: int | None = None) -> None:
        given = "" if grace_s is None else f"?gracePeriodSeconds={grace_s}"
        self.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}{given}")

    def end_pods(self, namespace: str) -> None:
        """All of them, at once; the namespace goes, too, when its controller comes to it."""
        self.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
        self.wait_until(lambda: not self.pods(namespace))
        self.ask("DELETE", f"/api/v1/namespaces/{namespace}")

    def log(self, namespace: str, name: str, container: str = "main") -> str:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/log?container={container}"
        return self.ask_raw("GET", path).decode()

    def log_or_nothing(self, namespace: str, name: str) -> str:
        """Before there is a container, there is none."""
        try:
            return self.log(namespace, name)
        except Refused:
            return ""

    def ended(self, namespace: str, name: str) -> Object:
        """The pod, once it has."""
        return self.pod_when(namespace, name, lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"))

    def running(self, namespace: str, name: str) -> Object:
        return self.pod_when(namespace, name, lambda pod: pod["status"]["phase"] == "Running")

    def pod_when(self, namespace: str, name: str, is_so: Callable[[Object], bool]) -> Object:
        deadline = time.monotonic() + PATIENCE_S
        while not is_so(pod := self.pod(namespace, name)):
            assert time.monotonic() < deadline, pod["status"]
            time.sleep(0.05)
        return pod

    def events(self, namespace: str, pod: str) -> list[str]:
        selector = f"involvedObject.name={pod}"
        found = self.ask("GET", f"/api/v1/namespaces/{namespace}/events?fieldSelector={selector}")["items"]
        return [f"{event['reason']}: {event['message']}" for event in found]

    def is_ready(self, node: str) -> bool:
        """And pods may be put there."""
        try:
            found = self.ask("GET", f"/api/v1/nodes/{node}")
        except Refused:
            return False
        conditions = found["status"].get("conditions", [])
        return not found["spec"].get("taints") and any(
            (condition["type"], condition["status"]) == ("Ready", "True") for condition in conditions
        )

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline, "it never came to pass"
            time.sleep(0.05)
