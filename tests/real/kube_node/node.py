"""A real node on this machine: containerd and kubelet in mount and process namespaces of their own.

All that they and their pods start is in them, and ends with the first process there, whoever ends that: us,
the kernel when we end, or a test in which the node loses power. What they mount is gone then, too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import json

from tests.real.kube.control_plane import ControlPlane, Missing, dying_with_us, free_ports
from tests.real.kube_node import cgroups, settings
from tests.real.kube_node.network import Network
from tests.real.kube_node.parts import Parts

READY_WITHIN_S = 180
_CTR = ("ctr", "--address", settings.CONTAINERD_SOCKET)
# The first process waits, and so takes leave of those whose parents are gone.
_FIRST = """
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind "$1/var-lib" /var/lib
mount --bind "$1/var-log" /var/log
mkdir -p /run/lock
echo ready
while :; do sleep 3600 & wait $!; done
"""


class Node:
    def __init__(
        self, folder: Path, parts: Parts, plane: ControlPlane, network: Network, number: int
    ) -> None:
        self.name = f"{network.bridge}-{number}"
        self._folder = folder / self.name
        self._parts = parts
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._address = network.node_address(number)
        self._write_settings(plane, network, number)

    def start(self, images: Path) -> None:
        """Returns when containerd has the images, and kubelet has been started."""
        self.power_on()
        self.start_containerd()
        self.run(*_CTR, "-n", "k8s.io", "images", "import", str(images))
        self.start_kubelet()

    def restart(self) -> None:
        """After `power_off`: its disk is as it was."""
        self.power_on()
        self.start_containerd()
        self.start_kubelet()

    def power_on(self) -> None:
        with open(self._folder / "first.log", "ab") as log:
            first = subprocess.Popen(
                [
                    *dying_with_us(),
                    *("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"),
                    *("sh", "-ec", _FIRST, "first", str(self._folder)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._processes["first"] = first
        assert first.stdout is not None
        with first.stdout:
            if first.stdout.readline() != b"ready\n":
                raise Missing(f"a node can't have namespaces of its own here: {self.log('first')}")
        cgroups.make(self.name)

    def power_off(self) -> None:
        """At once, as when the power fails; nothing says goodbye."""
        first = self._processes.pop("first", None)
        if first is None:
            return
        inside = _child(first.pid)
        os.kill(first.pid if inside is None else inside, signal.SIGKILL)
        first.wait(READY_WITHIN_S)
        for process in self._processes.values():
            process.wait(READY_WITHIN_S)
        self._processes.clear()
        cgroups.remove(self.name)

    def start_containerd(self) -> None:
        self._start("containerd", "containerd", "--config", f"{self._folder}/containerd.toml")
        self._wait_until("containerd", lambda: self._try(*_CTR, "version").returncode == 0)

    def start_kubelet(self) -> None:
        self._start(
            "kubelet",
            str(self._parts.programs / "kubelet"),
            f"--config={self._folder}/kubelet.json",
            f"--kubeconfig={self._folder}/kubeconfig",
            f"--hostname-override={self.name}",
            f"--node-ip={self._address}",
        )

    def stop(self, program: str, how: signal.Signals = signal.SIGKILL) -> None:
        """ "kubelet" or "containerd"; pods go on."""
        process = self._processes.pop(program)
        inside = _child(process.pid)
        assert inside is not None, self.log(program)[-2000:]
        os.kill(inside, how)
        process.wait(READY_WITHIN_S)

    def run(self, *words: str) -> str:
        done = self._try(*words)
        assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def log(self, program: str) -> str:
        return (self._folder / f"{program}.log").read_text(errors="replace")

    def _write_settings(self, plane: ControlPlane, network: Network, number: int) -> None:
        for part in ("var-lib", "var-log", "cni", "volume-plugins"):
            (self._folder / part).mkdir(parents=True)
        (port,) = free_ports(1)
        kubelet = settings.kubelet(self._folder, self.name, network, number, port, self._parts.minor)
        serving = plane.authority.server(self._address)
        client = plane.authority.client(f"system:node:{self.name}", "system:nodes")
        with_certificate = {
            "client-certificate": f"{self._folder}/client.crt",
            "client-key": f"{self._folder}/client.key",
        }
        for name, content in {
            "containerd.toml": settings.containerd(self._folder, self._parts.cni_plugins).encode(),
            "cni/10-rota.conflist": json.encode(settings.cni(network, number)),
            "kubelet.json": json.encode(kubelet),
            "kubeconfig": json.encode(plane.cluster.kubeconfig(with_certificate)),
            "ca.crt": plane.authority.pem,
            "kubelet.crt": serving.chain_pem,
            "kubelet.key": serving.key_pem,
            "client.crt": client.chain_pem,
            "client.key": client.key_pem,
            "resolv.conf": b"",
        }.items():
            (self._folder / name).write_bytes(content)

    def _start(self, program: str, *words: str) -> None:
        with open(self._folder / f"{program}.log", "ab") as log:
            self._processes[program] = subprocess.Popen(
                [*dying_with_us(), *self._inside(), *dying_with_us(), *words],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _try(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._inside(), *words], cwd=self._folder, capture_output=True, text=True)

    def _inside(self) -> tuple[str, ...]:
        first = _child(self._processes["first"].pid)
        assert first is not None, self.log("first")
        return ("nsenter", "--target", str(first), "--mount", "--pid", "--wdns=/")

    def _wait_until(self, program: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while not is_so():
            if self._processes[program].poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{program} doesn't start:\n{self.log(program)[-4000:]}")
            time.sleep(0.05)


def _child(pid: int) -> int | None:
    """The process in the namespace, of the one outside that started it and waits for it."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(found[0]) if found else None
