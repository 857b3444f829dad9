"""CoreDNS for the pods' names, on the gateway's address."""

from __future__ import annotations

import http.client
import subprocess
import time
from pathlib import Path

from tests.real.kube.control_plane import dying_with_us, free_ports
from tests.real.kube_node.node import READY_WITHIN_S
from tests.real.kube_node.settings import CLUSTER_DOMAIN


class Dns:
    def __init__(self, folder: Path, program: Path, kubeconfig: Path, address: str) -> None:
        (self._ready_port,) = free_ports(1)
        self._log = folder / "coredns.log"
        settings = folder / "Corefile"
        # No time to live: a pod that comes is found at once.
        kubernetes = f"kubernetes {CLUSTER_DOMAIN} {{\nkubeconfig {kubeconfig} here\nttl 0\n}}"
        ready = f"ready 127.0.0.1:{self._ready_port}"
        settings.write_text(f".:53 {{\nbind {address}\nerrors\n{ready}\n{kubernetes}\n}}\n")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*dying_with_us(), program, "-conf", settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def await_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"CoreDNS doesn't start:\n{self._log.read_text()[-4000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(READY_WITHIN_S)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._ready_port, timeout=5)
        try:
            connection.request("GET", "/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
