"""`deploy/up.sh`: from nothing to two servers on a PostgreSQL, and two agents that work for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from msgspec import json

from tests.real.conftest import missing
from tests.real.docker import BASE, ROOT, Docker, compose_words
from tests.real.postgres import Missing
from tests.real.server.rota_server import eventually

pytestmark = pytest.mark.slow

COMPOSE_FILE = ROOT / "deploy" / "compose.yaml"
VARIABLES = {
    "COMPOSE_PROJECT_NAME": "rota-test",
    "ROTA_BASE_IMAGE": BASE,
    "ROTA_DATABASE_IMAGE": "rota-test-database",
    "ROTA_DATABASE_PASSWORD": "secret",
    "ROTA_IMAGE": "rota-test",
    "ROTA_PORT": "0",
}


class Composed:
    def __init__(self, docker: Docker) -> None:
        self._docker = docker

    def up(self) -> None:
        self._docker.run("deploy/up.sh", environment=VARIABLES)

    def compose(self, *words: str) -> str:
        return self._docker.run(*compose_words(), "-f", str(COMPOSE_FILE), *words, environment=VARIABLES)

    def rota(self, server: str, *words: str) -> str:
        return self.compose("exec", "-T", server, "rota", *words)

    def down(self) -> None:
        self.compose("down", "--volumes", "--timeout", "5")

    def leader(self) -> str:
        """The one that has a token: the other has never led."""
        found = (one for one in ("server-1", "server-2") if self._has_led(one))
        return next(found)

    def _has_led(self, server: str) -> bool:
        return "token" in self.compose("exec", "-T", server, "ls", "/var/lib/rota").split()


@pytest.fixture
def composed() -> Iterator[Composed]:
    try:
        docker = Docker()
    except Missing as error:
        missing(str(error))
    made = Composed(docker)
    try:
        docker.make_base()
        docker.build("rota-test", "Dockerfile", ".", target="rota")
        docker.build("rota-test-database", "tests/real/deploy/database.Dockerfile", "tests/real/deploy")
        yield made
    finally:
        made.down()
        docker.remove()


def test_no_service_has_more_rights_than_it_needs() -> None:
    services = yaml.safe_load(COMPOSE_FILE.read_text())["services"]
    assert set(services) == {"database", "server-1", "server-2", "agent-1", "agent-2"}
    for name, service in services.items():
        assert not {"privileged", "cap_add", "network_mode", "pid", "user"} & set(service)
        if name != "database":
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]
            assert service["init"] is True


@pytest.mark.covers("ops-2", "agent-2")
def test_from_nothing_to_two_agents_and_on_when_a_server_is_gone(composed: Composed) -> None:
    composed.up()
    leader = composed.leader()
    assert "uid=8426(rota)" in composed.compose("exec", "-T", leader, "id")

    def ready() -> set[str]:
        nodes = json.decode(composed.rota(leader, "nodes", "-o", "json"))
        return {node["name"] for node in nodes if node["ready"]}

    eventually(lambda: ready() == {"agent-1", "agent-2"}, "both agents to be ready")
    said = composed.rota(leader, "run", "--clean", "--", "sh", "-c", "echo as $(id -un)")
    assert said == "as rota\n"
    composed.up()  # Nothing changes, and nobody joins twice.
    [job] = json.decode(composed.rota(leader, "ls", "--all", "-o", "json"))
    token = composed.compose("exec", "-T", leader, "cat", "/var/lib/rota/token").strip()
    [other] = {"server-1", "server-2"} - {leader}
    composed.compose("kill", leader)

    def logs() -> str:
        """Of the job that was over before, as the other server has them."""
        return composed.compose(
            "exec", "-T", "-e", f"ROTA_TOKEN={token}", other, "sh", "-c", f"rota logs {job['id']} || true"
        )

    eventually(lambda: logs() == "as rota\n", "the other server to lead")
