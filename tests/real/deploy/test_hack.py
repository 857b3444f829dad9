"""The scripts of hack/: a Docker without a bridge and a firewall, and the demo on kind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import missing
from tests.real.docker import ROOT
from tests.real.kube.control_plane import Missing, programs

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


DEMO = ROOT / "hack" / "kind-demo.sh"


@pytest.fixture
def with_kind(tmp_path: Path) -> Iterator[dict[str, str]]:
    """kind's place on the PATH is taken by one that needs no registry; there is no docker there."""
    try:
        kubernetes = programs()
    except Missing as error:
        missing(str(error))
    kind = tmp_path / "bin" / "kind"
    kind.parent.mkdir()
    stand_in = f"{sys.executable} -m tests.real.deploy.kind_stand_in"
    kind.write_text(f'#!/bin/sh\ncd {ROOT} && exec {stand_in} "$@"\n')
    kind.chmod(0o755)
    (kind.parent / "kubectl").symlink_to(kubernetes / "kubectl")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DOCKER_HOST"},
        "PATH": f"{kind.parent}:/usr/bin:/bin",
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "STAND_IN": str(tmp_path),
    }
    yield environment
    assert subprocess.run([DEMO, "--delete"], env=environment).returncode == 0
    assert not list(tmp_path.glob("*.cluster"))


@pytest.mark.covers("kube-9")
def test_the_demo_on_kind(with_kind: dict[str, str], tmp_path: Path) -> None:
    given = with_kind | {"SKIP_BUILD": "true", "IMAGE": "example.org/batch-scheduler:1"}
    done = subprocess.run([DEMO], env=given, capture_output=True, text=True, timeout=600)
    told = f"{done.stdout}\n{done.stderr}\n{(tmp_path / 'log').read_text()}"
    assert done.returncode == 0, told
    assert (tmp_path / "images").read_text().split() == ["example.org/batch-scheduler:1"]
    assert 'deployment "batch-scheduler" successfully rolled out' in done.stdout
    assert done.stdout.count("pod/gang-demo-") >= 3, told
    assert "job.batch/gang-demo condition met" in done.stdout

    def kubectl(*words: str) -> str:
        ran = subprocess.run(["kubectl", *words], env=with_kind, capture_output=True, text=True, check=True)
        return ran.stdout

    nodes = kubectl("get", "nodes", "-o", "name").split()
    assert nodes == ["node/gang-control-plane", "node/gang-worker", "node/gang-worker2"]
    image = "jsonpath={.spec.template.spec.containers[?(@.name=='batch-scheduler')].image}"
    deployment = ("-n", "batch-scheduler-system", "get", "deployment", "batch-scheduler", "-o", image)
    assert kubectl(*deployment) == "example.org/batch-scheduler:1"
    # Again in the same cluster.
    again = subprocess.run([DEMO], env=given, capture_output=True, text=True, timeout=600)
    assert again.returncode == 0, again.stderr
    assert "making the cluster" not in again.stderr


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ((), "kind is missing; install it: go install sigs.k8s.io/kind"),
        (("kind",), "kubectl is missing; install it: "),
        (("kind", "kubectl"), "docker is missing; install it (apt-get install docker.io), or give IMAGE and"),
    ],
)
def test_what_is_missing_is_named_with_a_hint(there: tuple[str, ...], told: str, tmp_path: Path) -> None:
    for program in ("bash", "env", "dirname", *there):
        (tmp_path / program).symlink_to(shutil.which(program) or "/bin/true")
    done = subprocess.run([DEMO], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr
