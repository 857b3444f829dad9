"""The network of some nodes: a bridge of this machine's, with addresses for the nodes and their pods.

It says who made it, so that whoever comes next can take away what its maker couldn't.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.real.kube.control_plane import Missing

NETWORKS = 60
_LINKS = Path("/sys/class/net")


class Network:
    """Of 1,024 addresses: this machine is the gateway, each node has one, and its pods have 254."""

    def __init__(self, folder: Path) -> None:
        """`folder`: where else its nodes leave things."""
        for number in range(NETWORKS):
            self.bridge = f"rota-node{number}"
            # To add it is to have it: of two who try, one fails.
            if _succeeds("ip", "link", "add", self.bridge, "type", "bridge"):
                self._base = 4 * number
                break
        else:
            raise Missing("no bridge can be made here for a Kubernetes node")
        try:
            _run("ip", "link", "set", self.bridge, "alias", f"{os.getpid()} {_started(os.getpid())} {folder}")
            for address in (self.gateway, self.node_address(0), self.node_address(1), self.node_address(2)):
                _run("ip", "address", "add", f"{address}/22", "dev", self.bridge)
            _run("ip", "link", "set", self.bridge, "up")
            self._let_through("-I")
        except BaseException:
            self.remove()
            raise

    @property
    def subnet(self) -> str:
        return f"10.199.{self._base}.0/22"

    @property
    def gateway(self) -> str:
        return f"10.199.{self._base}.1"

    def node_address(self, node: int) -> str:
        return f"10.199.{self._base}.{10 + node}"

    def pod_addresses(self, node: int) -> tuple[str, str]:
        """The first and the last."""
        return f"10.199.{self._base + 1 + node}.1", f"10.199.{self._base + 1 + node}.254"

    def remove(self) -> None:
        _take_away(self.bridge)

    def _let_through(self, how: str) -> None:
        """Docker's rules drop what goes from one port of a bridge to another, where the kernel asks them."""
        if shutil.which("iptables"):
            _run(*_rule(how, self.bridge))


def abandoned() -> Iterator[tuple[str, Path]]:
    """Bridges, with their folders, whose makers are gone; each is away once the next is asked for."""
    for link in _LINKS.glob("rota-node*"):
        try:
            pid, start, folder = (link / "ifalias").read_text().split()
        except (OSError, ValueError):
            continue
        if _started(int(pid)) != start:
            yield link.name, Path(folder)
            _take_away(link.name)


def _started(pid: int) -> str:
    """When that process was started, as the kernel counts; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]
    except OSError:
        return ""


def _take_away(bridge: str) -> None:
    _succeeds("ip", "link", "delete", bridge)
    if shutil.which("iptables"):
        _succeeds(*_rule("-D", bridge))


def _rule(how: str, bridge: str) -> tuple[str, ...]:
    return ("iptables", "-w", how, "FORWARD", "-i", bridge, "-o", bridge, "-j", "ACCEPT")


def _succeeds(*words: str) -> bool:
    return subprocess.run(words, capture_output=True).returncode == 0


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"{' '.join(words)}: {done.stderr.strip()}")
