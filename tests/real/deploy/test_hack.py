"""`hack/start-dockerd.sh`: a Docker for hosts where it can have neither a bridge nor a firewall."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import missing
from tests.real.docker import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-8")]

SCRIPT = ROOT / "hack" / "start-dockerd.sh"


@pytest.fixture
def folder() -> Iterator[Path]:
    """The names of sockets in it may not be long."""
    with tempfile.TemporaryDirectory(prefix="rota-dockerd-") as folder:
        yield Path(folder)


@pytest.fixture
def environment(folder: Path) -> Iterator[dict[str, str]]:
    given = {**os.environ, "ROTA_DOCKER_FOLDER": str(folder)}
    started = subprocess.run([SCRIPT], env=given, capture_output=True, text=True)
    if started.returncode != 0:
        missing(started.stderr.strip().splitlines()[-1])
    told = dict(line.removeprefix("export ").split("=", 1) for line in started.stdout.splitlines())
    yield given | told
    assert subprocess.run([SCRIPT, "--stop"], env=given).returncode == 0
    assert not (folder / "dockerd.pid").exists()


def docker(environment: dict[str, str], *words: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["docker", *words], env=environment, input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_containers_run_without_a_bridge(environment: dict[str, str]) -> None:
    assert docker(environment, "network", "ls", "--format", "{{.Driver}}").split() == ["host", "null"]
    # A program that links to nothing is an image.
    program = Path(shutil.which("ldconfig") or "/usr/sbin/ldconfig").resolve()
    files = subprocess.run(["tar", "-C", "/", "-c", str(program)[1:]], capture_output=True, check=True).stdout
    docker(environment, "import", "-", "tiny", stdin=files)
    for network in ("none", "host"):
        said = docker(environment, "run", "--rm", "--network", network, "tiny", str(program), "--version")
        assert said.startswith("ldconfig")


def test_started_again_it_is_the_same(environment: dict[str, str]) -> None:
    before = docker(environment, "info", "--format", "{{.ID}}")
    again = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True)
    assert again.stdout.splitlines()[0] == f"export DOCKER_HOST={environment['DOCKER_HOST']}"
    assert docker(environment, "info", "--format", "{{.ID}}") == before


def test_what_it_doesnt_know_it_says() -> None:
    done = subprocess.run([SCRIPT, "--nonsense"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: hack/start-dockerd.sh [--stop]\n")
