"""A network of its own for each agent, with one way to the server's that can be taken away."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from tests.real.postgres import Missing


class Namespaces:
    """Raises Missing where that can't be had."""

    def __init__(self, names: Sequence[str]) -> None:
        if os.geteuid() != 0:
            raise Missing("only root can make networks")
        number = os.getpid()
        self._bridge = f"rota{number}"
        self._names = {name: f"rota-{number}-{name}" for name in names}
        self._subnet = f"10.{200 + number // 256 % 50}.{number % 256}"
        self.server_address = f"{self._subnet}.1"
        try:
            self._make()
        except Missing:
            self.remove()
            raise

    def inside(self, name: str) -> list[str]:
        """What is to be put before a command."""
        return ["ip", "netns", "exec", self._names[name]]

    def part(self, name: str) -> None:
        _ip("link", "set", self._way(name), "down")

    def join(self, name: str) -> None:
        _ip("link", "set", self._way(name), "up")

    def remove(self) -> None:
        for space in self._names.values():
            subprocess.run(["ip", "netns", "delete", space], capture_output=True)
        subprocess.run(["ip", "link", "delete", self._bridge], capture_output=True)

    def _make(self) -> None:
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("address", "add", f"{self.server_address}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        for host, (name, space) in enumerate(self._names.items(), start=2):
            inside = f"{self._way(name)}i"
            _ip("netns", "add", space)
            _ip("link", "add", self._way(name), "type", "veth", "peer", "name", inside)
            _ip("link", "set", inside, "netns", space)
            _ip("link", "set", self._way(name), "master", self._bridge, "up")
            _ip("-n", space, "address", "add", f"{self._subnet}.{host}/24", "dev", inside)
            _ip("-n", space, "link", "set", inside, "up")
            _ip("-n", space, "link", "set", "lo", "up")

    def _way(self, name: str) -> str:
        return f"{self._bridge}{name}"


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
    except FileNotFoundError:
        raise Missing("networks are made with `ip` of iproute2") from None
    if done.returncode != 0:
        raise Missing(f"no network can be made here: {done.stderr.strip()}")
