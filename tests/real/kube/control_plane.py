"""A Kubernetes control plane of our own: etcd, the API server, and Kubernetes' own controllers and scheduler
where they are asked for. In a temporary folder, on ports of this machine, stopped by their pids."""

from __future__ import annotations

import base64
import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import json

from tests.real.kube.audit import AUDIT_POLICY
from tests.real.kube.certificates import Authority, new_key_pem
from tests.real.kube.cluster import TOKENS, Cluster

READY_WITHIN_S = 180
SCRIPT = Path(__file__).parents[3] / "scripts" / "kube.sh"
# Pods can be made before any controller has made their namespace's account.
_NO_NODES = ("--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount")


class Missing(Exception):
    """What is needed isn't on this machine, and can't be built."""


def programs() -> Path:
    """The folder of etcd and Kubernetes' programs; where they are yet to be built, that takes minutes."""
    found = subprocess.run([SCRIPT], capture_output=True, text=True)
    if found.returncode != 0:
        raise Missing(found.stderr.strip().splitlines()[-1])
    return Path(found.stdout.strip().splitlines()[-1])


@cache
def release() -> tuple[int, int]:
    """Of the API server, such as (1, 34)."""
    said = subprocess.run([programs() / "kube-apiserver", "--version"], capture_output=True, text=True)
    found = re.search(r"v(\d+)\.(\d+)", said.stdout)
    assert found is not None, said.stdout + said.stderr
    return int(found[1]), int(found[2])


class ControlPlane:
    """etcd and the API server run once it is made."""

    def __init__(self, *, is_audited: bool = False, has_nodes: bool = False) -> None:
        """`is_audited`: the API server keeps a record of who bound what, and of who led. `has_nodes`: there
        will be kubelets, and controllers that make accounts."""
        self._is_audited = is_audited
        self._has_nodes = has_nodes
        self._programs = programs()
        # In memory, if that can be: nothing of it is kept, and disks are slow.
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = Path(tempfile.mkdtemp(prefix="rota-kube-", dir=parent))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._etcd_port, etcd_peer_port, self._port = free_ports(3)
        self.authority = Authority()
        self.cluster = Cluster(f"https://127.0.0.1:{self._port}", self.authority.pem.decode())
        try:
            self._write_keys()
            self._start_etcd(etcd_peer_port)
            self.start_api_server()
        except BaseException:
            self.remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def start_api_server(self) -> None:
        self.launch_api_server()
        self.await_api_server()

    def launch_api_server(self) -> None:
        """By the main thread, as everything: what a thread starts ends with that thread."""
        folder = self._folder
        self._start(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--tls-cert-file={folder}/server.crt",
            f"--tls-private-key-file={folder}/server.key",
            f"--client-ca-file={folder}/ca.crt",
            f"--token-auth-file={folder}/tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder}/accounts.key",
            f"--service-account-signing-key-file={folder}/accounts.key",
            "--service-cluster-ip-range=10.0.0.0/24",
            *(self._node_arguments() if self._has_nodes else _NO_NODES),
            *self._audit_arguments(),
        )

    @property
    def audit_log(self) -> Path:
        return self._folder / "audit.log"

    def await_api_server(self) -> None:
        self._wait_until("kube-apiserver", self._is_ready)

    def stop_api_server(self, how: signal.Signals = signal.SIGKILL) -> None:
        self._stop("kube-apiserver", how)

    def signal_api_server(self, which: signal.Signals) -> None:
        self._processes["kube-apiserver"].send_signal(which)

    def start_controller_manager(self, *arguments: str) -> None:
        self._start(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig()}",
            "--leader-elect=false",
            "--secure-port=0",
            f"--service-account-private-key-file={self._folder}/accounts.key",
            f"--root-ca-file={self._folder}/ca.crt",
            *arguments,
        )

    def start_scheduler(self, *arguments: str) -> None:
        """Of Kubernetes."""
        self._start(
            "kube-scheduler",
            f"--kubeconfig={self.kubeconfig()}",
            "--leader-elect=false",
            "--secure-port=0",
            *arguments,
        )

    def stop_scheduler(self) -> None:
        self._stop("kube-scheduler", signal.SIGTERM)

    def store(self, key: str, document: object) -> None:
        """Straight into etcd, past what the API server checks, as an older one may have let it through."""
        pair = {
            name: base64.b64encode(value).decode()
            for name, value in (("key", key.encode()), ("value", json.encode(document)))
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._etcd_port, timeout=30)
        try:
            connection.request("POST", "/v3/kv/put", json.encode(pair))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
        finally:
            connection.close()

    def pid(self, program: str) -> int:
        """As in "kube-scheduler", to measure what it takes."""
        return self._processes[program].pid

    def log(self, program: str) -> str:
        return (self._folder / f"{program}.log").read_text(errors="replace")

    def remove(self) -> None:
        for program in reversed(list(self._processes)):
            self._stop(program, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write_keys(self) -> None:
        server = self.authority.server()
        kubelet_client = self.authority.client("kube-apiserver-kubelet-client", "system:masters")
        for name, content in {
            "ca.crt": self.authority.pem,
            "server.crt": server.chain_pem,
            "server.key": server.key_pem,
            "kubelet-client.crt": kubelet_client.chain_pem,
            "kubelet-client.key": kubelet_client.key_pem,
            "accounts.key": new_key_pem(),
            "tokens.csv": "".join(
                f'{token},{user},{user},"{group}"\n' for user, (token, group) in TOKENS.items()
            ).encode(),
        }.items():
            (self._folder / name).write_bytes(content)

    def _node_arguments(self) -> list[str]:
        return [
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={self._folder}/ca.crt",
            f"--kubelet-client-certificate={self._folder}/kubelet-client.crt",
            f"--kubelet-client-key={self._folder}/kubelet-client.key",
        ]

    def _audit_arguments(self) -> list[str]:
        if not self._is_audited:
            return []
        policy = self._folder / "audit.json"
        policy.write_bytes(json.encode(AUDIT_POLICY))
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}"]

    def _start_etcd(self, peer_port: int) -> None:
        client_url, peer_url = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, peer_port))
        self._start(
            "etcd",
            f"--data-dir={self._folder}/etcd",
            f"--listen-client-urls={client_url}",
            f"--advertise-client-urls={client_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
            f"--quota-backend-bytes={4 * 2**30}",
            "--log-level=warn",
        )
        self._wait_until("etcd", lambda: _is_listening(self._etcd_port))

    def _start(self, program: str, *arguments: str) -> None:
        with open(self._folder / f"{program}.log", "ab") as log:
            self._processes[program] = subprocess.Popen(
                [*dying_with_us(), str(self._programs / program), *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _stop(self, program: str, how: signal.Signals) -> None:
        process = self._processes.pop(program, None)
        if process is not None:
            process.send_signal(how)
            process.wait(READY_WITHIN_S)

    def _wait_until(self, program: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while not is_so():
            if self._processes[program].poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{program} doesn't start:\n{self.log(program)[-4000:]}")
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        tls = ssl.create_default_context(cadata=self.cluster.ca_pem)
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=tls, timeout=5)
        try:
            connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {TOKENS['admin'][0]}"})
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def kubeconfig(self) -> Path:
        path = self._folder / "admin.kubeconfig"
        path.write_bytes(json.encode(self.cluster.kubeconfig({"token": TOKENS["admin"][0]})))
        return path


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def dying_with_us() -> Sequence[str]:
    """However we end, nothing is left running."""
    return ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
