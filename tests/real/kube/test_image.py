"""The small image of the scheduler: built without a registry, it schedules as a user without rights."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import json

from rota import __version__
from tests.real.conftest import missing
from tests.real.docker import Docker
from tests.real.kube.cluster import TOKENS, Cluster
from tests.real.kube.pods import place_in
from tests.real.postgres import Missing

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-8", "kube-9")]

IMAGE = "batch-scheduler-test"


@pytest.fixture(scope="module")
def docker() -> Iterator[Docker]:
    try:
        made = Docker()
    except Missing as error:
        missing(str(error))
    try:
        made.make_base()
        made.build("rota-test", "Dockerfile", ".", target="rota")
        made.build(IMAGE, "Dockerfile", ".")
        yield made
    finally:
        made.remove()


async def test_it_schedules_without_rights(
    docker: Docker, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_bytes(json.encode(cluster.kubeconfig({"token": TOKENS["admin"][0]})))
    as_in_the_manifest = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL")

    async with place_in(cluster, namespace) as place:
        (node,) = await place.add_nodes("a")
        await place.add_pod("p")
        said = await asyncio.to_thread(
            docker.run,
            *("docker", "run", "--rm", "--network", "host", *as_in_the_manifest),
            *("--volume", f"{config}:/kubeconfig:ro", IMAGE, "--dry-run"),
            *("--kubeconfig", "/kubeconfig", "--scheduler-name", place.scheduler_name),
        )
        assert f"bind {namespace}/p to {node}" in said.splitlines()


def test_any_command_can_be_given(docker: Docker) -> None:
    words = ("docker", "run", "--rm", "--network", "none", IMAGE)
    assert docker.run(*words, "--gang-label", "example.com/gang", "--help").startswith(
        "Usage: rota kube-scheduler"
    )
    assert docker.run(*words, "version") == f"rota {__version__}\n"


def test_there_is_nothing_else_in_it(docker: Docker) -> None:
    about = json.decode(docker.run("docker", "inspect", IMAGE))[0]
    assert about["Config"]["User"] == "8426:8426"
    whole = json.decode(docker.run("docker", "inspect", "rota-test"))[0]
    assert about["Size"] < whole["Size"]
    for program in ("/bin/sh", "/usr/bin/apt-get", "/usr/bin/perl"):
        with pytest.raises(AssertionError, match="no such file"):
            docker.run("docker", "run", "--rm", "--network", "none", "--entrypoint", program, IMAGE)


def test_it_knows_whom_to_trust_and_where_to_look(docker: Docker) -> None:
    """Certificates, names of hosts and time zones are files that nothing links to."""
    asked = "import socket, ssl, zoneinfo; zoneinfo.ZoneInfo('Europe/Berlin'); "
    asked += "print(len(ssl.create_default_context().get_ca_certs()) > 50, socket.gethostbyname('localhost'))"
    words = ("docker", "run", "--rm", "--network", "none", "--entrypoint", "/opt/rota/bin/python", IMAGE)
    assert docker.run(*words, "-c", asked) == "True 127.0.0.1\n"
