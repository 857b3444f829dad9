"""Several servers on one database: any of them answers, one leads, and another goes on where it stops."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
import urllib3
from msgspec import json

from rota.api.service import EventDocument
from rota.sdk.client import Client
from rota.sdk.errors import RotaError, Unavailable
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import PATIENCE_S, RotaServer, eventually, shell

pytestmark = [pytest.mark.covers("ops-2"), pytest.mark.slow]

NewReplica = Callable[..., RotaServer]


@pytest.fixture
def new_replica(tmp_path: Path, postgres_url: str) -> Iterator[NewReplica]:
    made: list[RotaServer] = []

    def make(name: str, *flags: str) -> RotaServer:
        environment = {"ROTA_SERVER_EMBEDDED_WORKER": "false"}
        server = RotaServer(tmp_path / name, "--database", postgres_url, *flags, environment=environment)
        made.append(server)
        server.start()
        return server

    yield make
    for server in made:
        server.remove()


def ready(server: RotaServer) -> str:
    """What it says of itself; empty: it isn't ready."""
    with urllib3.PoolManager(ca_certs=server.ca) as pool:
        answer = pool.request("GET", f"{server.url}/readyz", retries=False)
    return str(json.decode(answer.data).get("status")) if answer.status == 200 else ""


def submitted(client: Client, name: str) -> str:
    [job] = client.submit(shell("true", name=name)).jobs
    return job.id


def names(client: Client) -> list[str]:
    return sorted(job.name for job in client.jobs())


def test_any_answers_and_one_leads(new_replica: NewReplica) -> None:
    one, other = new_replica("one"), new_replica("other")
    assert (ready(one), ready(other)) == ("ready", "standby")
    with Client(other.url, one.token) as client:
        job = submitted(client, "by-the-other")
        assert client.me().role.value == "admin"
        assert client.job(job).job.name == "by-the-other"
        stream = cast(Generator[EventDocument, None, None], client.events(follow=True, after=0))
        with closing(stream):
            assert next(event for event in stream if event.subject == job).kind == "job.Submitted"
            client.cancel(job)
            assert next(event for event in stream if event.subject == job).kind == "job.CancelAsked"
    assert names(one.client) == ["by-the-other"]
    with Client(other.url, "rota_" + "x" * 43) as client, pytest.raises(RotaError) as told:
        client.me()
    assert told.value.status == 401


def test_another_goes_on_when_the_leader_stops(new_replica: NewReplica) -> None:
    one, other = new_replica("one"), new_replica("other")
    with Client(other.url, one.token) as client:
        submitted(client, "before")
        one.stop()
        eventually(lambda: ready(other) == "ready", "the other to lead")
        submitted(client, "after")
        assert names(client) == ["after", "before"]
        one.start()
        assert ready(one) == "standby"
    with Client(one.url, one.token) as client:
        assert names(client) == ["after", "before"]


def test_another_goes_on_when_the_leader_is_killed(new_replica: NewReplica) -> None:
    one, other = new_replica("one"), new_replica("other")
    with Client(other.url, one.token) as client:
        submitted(client, "before")
        one.kill()
        eventually(lambda: _submits(client, "after"), "the other to lead")
        assert names(client) == ["after", "before"]


def test_one_that_is_killed_and_comes_back_leads_at_once(new_replica: NewReplica) -> None:
    one = new_replica("one")
    submitted(one.client, "before")
    one.kill()
    one.start()
    assert ready(one) == "ready"
    assert names(one.client) == ["before"]


def test_a_leader_that_was_frozen_writes_nothing_any_more(new_replica: NewReplica) -> None:
    one, other = new_replica("one"), new_replica("other")
    assert one._process is not None
    with Client(other.url, one.token) as client, one.impatient() as frozen:
        submitted(client, "before")
        one._process.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: ready(other) == "ready", "the other to lead")
            submitted(client, "meanwhile")
        finally:
            one._process.send_signal(signal.SIGCONT)
        refused_or_passed_on = _submits(frozen, "thawed")
        eventually(lambda: ready(one) == "standby", "the first to stand by")
        assert submitted(frozen, "passed-on")
        kept = ["before", "passed-on", "meanwhile"]
        assert names(client) == sorted([*kept, "thawed"] if refused_or_passed_on else kept)
        numbers = [int(job.id) for job in client.jobs()]
        assert len(set(numbers)) == len(numbers)


def _submits(client: Client, name: str) -> bool:
    try:
        submitted(client, name)
    except Unavailable:
        return False
    return True


def test_replicas_trust_each_other_by_what_the_database_says(new_replica: NewReplica) -> None:
    one = new_replica("one", "--tls-self-signed")
    other = new_replica("other", "--tls-self-signed")
    with Client(other.url, one.token, ca=other.ca) as client:
        submitted(client, "over-tls")
    assert one.url.startswith("https:")
    assert ready(other) == "standby"


def test_a_server_that_runs_jobs_itself_has_no_replicas(
    new_replica: NewReplica, new_server: NewServer, postgres_url: str, tmp_path: Path
) -> None:
    alone = new_server("--database", postgres_url)
    said = _refusal(tmp_path / "b", postgres_url, {"ROTA_SERVER_EMBEDDED_WORKER": "false"})
    assert "the leader runs jobs itself" in said
    said = _refusal(tmp_path / "c", postgres_url, {})
    assert "another server uses this database" in said
    alone.stop()
    new_replica("one")
    assert "set server.embedded_worker = false" in _refusal(tmp_path / "c", postgres_url, {})


def _refusal(home: Path, url: str, environment: dict[str, Any]) -> str:
    server = RotaServer(home, environment=environment)
    process = server.launch("--database", url, "--port", "0")
    assert process.wait(PATIENCE_S) == 1
    return server.log.read_text().splitlines()[-1]
