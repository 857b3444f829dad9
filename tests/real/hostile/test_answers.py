"""Small requests have small answers, and take little memory."""

from __future__ import annotations

from pathlib import Path

import pytest
import urllib3
from msgspec import json

from tests.real.server.conftest import NewServer, new_server
from tests.real.server.rota_server import RotaServer, shell

__all__ = ["new_server"]
pytestmark = [pytest.mark.slow, pytest.mark.covers("trust-1")]

MIB = 1 << 20
HELD = {**shell("true"), "hold": True}


@pytest.fixture
def server(new_server: NewServer) -> RotaServer:
    return new_server()


def ask(server: RotaServer, *jobs: object, query: str = "", key: str = "") -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    with urllib3.PoolManager() as pool:
        answer = pool.request(
            "POST", f"{server.url}/v1/jobs{query}", body=json.encode({"jobs": jobs}), headers=headers
        )
        return answer.status, answer.data


def memory_bytes(server: RotaServer) -> int:
    assert server._process is not None
    status = Path(f"/proc/{server._process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def test_a_dry_run_of_the_largest_array(server: RotaServer) -> None:
    """It was 42 MB for 90 bytes."""
    before = memory_bytes(server)
    status, body = ask(server, {**HELD, "array": "0-99999"}, query="?dry_run=true")
    assert status == 200
    assert len(body) < MIB
    answer = json.decode(body)
    [entry] = answer["entries"]
    assert (answer["count"], entry["count"], len(answer["jobs"])) == (100_000, 100_000, 1_000)
    assert (entry["first"], entry["last"]) == (f"{entry['id']}.0", f"{entry['id']}.99999")
    assert memory_bytes(server) - before < 100 * MIB


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_an_array_that_waits_for_another(server: RotaServer, query: str) -> None:
    """It was 533 MB for 40,000 jobs that wait for a thousand each."""
    first = {**HELD, "name": "first", "array": 1_000}
    status, body = ask(server, first, {**HELD, "array": 40_000, "depends_on": ["first"]}, query=query)
    assert status == 422
    assert "wait more than 100,000 times" in body.decode()
    status, body = ask(server, first, {**HELD, "array": 20, "depends_on": ["first"]}, query=query)
    assert status in (200, 201)
    assert len(body) < MIB


def test_what_is_kept_for_those_who_ask_again_is_small(server: RotaServer) -> None:
    job = {**HELD, "array": 5_000}
    before = disk_bytes(server)
    first = ask(server, job, key="once")
    assert first[0] == 201
    assert ask(server, job, key="once")[1] == first[1]
    assert len(first[1]) < MIB
    # Some 700 bytes a job, for the job: nothing of it is kept twice.
    assert disk_bytes(server) - before < 12 * MIB


def disk_bytes(server: RotaServer) -> int:
    return sum(path.stat().st_size for path in server.data.glob("rota.db*"))
