"""What a real node is made of, and where it is on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.real.kube.control_plane import Missing

SCRIPT = Path(__file__).parents[3] / "scripts" / "kube_node.sh"


class Parts(NamedTuple):
    programs: Path
    """The folder of kubelet, kubectl and the control plane."""
    coredns: Path
    cni_plugins: Path

    @property
    def minor(self) -> int:
        """Of Kubernetes 1."""
        said = subprocess.check_output([self.programs / "kubelet", "--version"], text=True)
        return int(said.split(".")[1])


def parts() -> Parts:
    """Where they are yet to be built, that takes minutes."""
    if os.geteuid() != 0:
        raise Missing("only root can run a Kubernetes node")
    found = subprocess.run([SCRIPT], capture_output=True, text=True)
    if found.returncode != 0:
        raise Missing(found.stderr.strip().splitlines()[-1])
    return Parts(*map(Path, found.stdout.strip().splitlines()[-3:]))


def busybox() -> Path:
    found = shutil.which("busybox")
    if found is None:
        raise Missing("busybox is missing: apt-get install busybox-static")
    return Path(found)
