"""A Docker of our own: its daemon on a socket of its own, started and stopped by its pid.

Images are kept in a cache folder, so that they are built once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.real.postgres import Missing

ROOT = Path(__file__).parents[2]
READY_WITHIN_S = 60
BUILT_WITHIN_S = 1_200
BASE = "rota-test-base"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rota" / "docker"
_AUTHORITIES = Path("/usr/local/share/ca-certificates")


class Docker:
    def __init__(self) -> None:
        if os.geteuid() != 0:
            raise Missing("only root can start a Docker of its own")
        found = subprocess.run([ROOT / "scripts" / "docker.sh"], capture_output=True, text=True)
        if found.returncode != 0:
            raise Missing(found.stderr.strip().splitlines()[-1])
        self._folder = Path(tempfile.mkdtemp(prefix="rota-docker-"))
        self.environment = {
            **os.environ,
            "DOCKER_HOST": f"unix://{self._folder}/sock",
            "DOCKER_BUILDKIT": "0",
        }
        _CACHE.mkdir(parents=True, exist_ok=True)
        # Of those that want it at the same time, one after the other.
        self._turn = open(_CACHE.parent / "docker.lock", "w")  # noqa: SIM115 – until it is removed
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        with (self._folder / "log").open("wb") as log:
            self._daemon = subprocess.Popen(
                [
                    "dockerd",
                    *("--host", self.environment["DOCKER_HOST"], "--data-root", str(_CACHE)),
                    *("--exec-root", str(self._folder / "exec"), "--pidfile", str(self._folder / "pid")),
                ],
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while subprocess.run(["docker", "info"], env=self.environment, capture_output=True).returncode != 0:
            if self._daemon.poll() is not None or time.monotonic() > deadline:
                told = (self._folder / "log").read_text()[-2000:]
                self.remove()
                raise Missing(f"Docker can't run here: {told}")
            time.sleep(0.2)

    def remove(self) -> None:
        self._daemon.terminate()
        self._daemon.wait(READY_WITHIN_S)
        self._turn.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            words,
            cwd=ROOT,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BUILT_WITHIN_S,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def make_base(self) -> None:
        """Debian 12 without a registry, which trusts whom this machine trusts."""
        if self.run("docker", "images", "--quiet", BASE):
            return
        tree = self._folder / "base"
        self.run("debootstrap", "--variant=minbase", "bookworm", str(tree))
        if _AUTHORITIES.is_dir():
            shutil.copytree(_AUTHORITIES, tree / _AUTHORITIES.relative_to("/"), dirs_exist_ok=True)
        self.run("sh", "-c", f"tar -C {tree} -c . | docker import - {BASE}")
        shutil.rmtree(tree)

    def build(self, tag: str, dockerfile: str, folder: str, *, target: str = "") -> None:
        """`target`: which of its images, if not the last."""
        of = ("--target", target) if target else ()
        self.run("docker", "build", "-f", dockerfile, *of, "--build-arg", f"BASE={BASE}", "-t", tag, folder)


def compose_words() -> tuple[str, ...]:
    """The command, which is a plugin or a program of its own."""
    there = subprocess.run(["docker", "compose", "version"], capture_output=True)
    return ("docker", "compose") if there.returncode == 0 else ("docker-compose",)
