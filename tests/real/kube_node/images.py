"""Images without a registry: a folder's worth of files as an archive, as `docker save` writes it."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import json

from tests.real.kube_node.parts import busybox

BUSYBOX = "rota.test/busybox:1"
"""With a shell, and everything that busybox has."""
PAUSE = "rota.test/pause:1"
"""What holds a pod's network."""
_PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
_GROUP = "root:x:0:\nnogroup:x:65534:\n"


def write_images(archive: Path) -> None:
    """Both have the same files: one layer serves them."""
    layer = _layer()
    images = {
        BUSYBOX: {"Cmd": ["/bin/sh"], "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
        PAUSE: {"Entrypoint": ["/bin/sleep", "2147483647"], "Env": ["PATH=/bin"]},
    }
    manifest = []
    with tarfile.open(archive, "w") as tar:
        _add(tar, "layer.tar", layer)
        for name, config in images.items():
            described = _config(config, [layer])
            file = f"{hashlib.sha256(described).hexdigest()}.json"
            _add(tar, file, described)
            manifest.append({"Config": file, "RepoTags": [name], "Layers": ["layer.tar"]})
        _add(tar, "manifest.json", json.encode(manifest))


def _layer() -> bytes:
    program = busybox()
    applets = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for folder, mode in {"bin": 0o755, "etc": 0o755, "root": 0o700, "home": 0o755, "tmp": 0o1777}.items():
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        _add(tar, "bin/busybox", program.read_bytes(), 0o755)
        for applet in applets:
            if applet != "busybox":
                entry = tarfile.TarInfo(f"bin/{applet}")
                entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(entry)
        _add(tar, "etc/passwd", _PASSWD.encode())
        _add(tar, "etc/group", _GROUP.encode())
    return made.getvalue()


def _config(config: object, layers: Sequence[bytes]) -> bytes:
    digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    return json.encode(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": digests},
            "history": [{"created_by": "tests"} for _ in layers],
        }
    )


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))
