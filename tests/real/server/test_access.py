"""Who may do what, what is carried out once, and what isn't carried out at all."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator

import pytest

from rota.api.people import Role
from rota.lifecycle.state import Phase
from rota.model.calendar import QueueMode
from rota.sdk.client import Client
from rota.sdk.errors import BadInput, Conflict, Forbidden, NotFound, Unauthorised
from tests.real.server.rota_server import RotaServer, shell

ClientOf = Callable[..., Client]


@pytest.fixture
def client_of(server: RotaServer) -> Iterator[ClientOf]:
    """A client with a token of its own."""
    made: list[Client] = []

    def make(user: str, role: Role, projects: list[str] | None = None) -> Client:
        token = server.client.add_token(user, role, projects=projects)
        made.append(server.impatient(token.secret))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.mark.covers("ops-2")
def test_other_projects_things_are_not_there(server: RotaServer, client_of: ClientOf) -> None:
    for project in ("red", "blue"):
        server.client.set_project(project)
    ours = client_of("ada", Role.SUBMITTER, ["red"])
    theirs = client_of("bob", Role.PROJECT_ADMIN, ["blue"])
    [job] = ours.submit(shell("echo secret; touch out", project="red", outputs=["out"])).jobs
    server.over(job.id)
    for ask in (
        lambda: theirs.job(job.id),
        lambda: list(theirs.logs(job.id)),
        lambda: theirs.output(job.id, "out"),
        lambda: theirs.cancel(job.id),
        lambda: theirs.why(job.id),
        lambda: theirs.eta(job.id),
        lambda: theirs.efficiency(job.id),
        lambda: theirs.extend(job.id, "+1h"),
    ):
        with pytest.raises(Forbidden, match="of a project that your token may not do this in"):
            ask()
    assert [one.id for one in theirs.jobs()] == []
    assert job.id in [one.id for one in ours.jobs()]
    assert job.id not in [event.subject for event in theirs.events()]
    assert job.id in [event.subject for event in ours.events()]
    with pytest.raises((Forbidden, BadInput, NotFound)):
        theirs.submit(shell("true", project="red"))
    with pytest.raises(BadInput, match="there is no job"):
        theirs.submit(shell("true", project="blue", depends_on=[job.id]))


@pytest.mark.covers("ops-2")
def test_each_role_may_do_what_is_its_own(client_of: ClientOf, server: RotaServer) -> None:
    viewer = client_of("eve", Role.VIEWER, projects=["default"])
    submitter = client_of("ada", Role.SUBMITTER, projects=["default"])
    operator = client_of("op", Role.OPERATOR)
    with pytest.raises(Forbidden):
        viewer.submit(shell("true"))
    [job] = submitter.submit(shell("true")).jobs
    assert server.over(job.id).user == "ada"
    assert viewer.job(job.id).job.user == "ada"
    with pytest.raises(Forbidden):
        submitter.set_queue("side", QueueMode.PAUSED)
    with pytest.raises(Forbidden):
        submitter.set_node(server.node, cordoned=True)
    assert operator.set_queue("side", QueueMode.OPEN).state is QueueMode.OPEN
    with pytest.raises(Forbidden):
        submitter.add_token("ada", Role.ADMIN)


@pytest.mark.covers("ops-2")
def test_a_token_that_is_taken_back_is_no_good_at_once(server: RotaServer) -> None:
    token = server.client.add_token("ada", Role.SUBMITTER)
    with server.impatient(token.secret) as client:
        assert client.me().user == "ada"
        server.client.remove_token(token.id)
        with pytest.raises(Unauthorised):
            client.me()
    assert token.id not in [one.id for one in server.client.tokens()]
    assert token.secret is not None
    assert token.secret not in server.log.read_text()
    assert token.secret not in str(list(server.client.events(kind="token.Made")))


@pytest.mark.covers("ops-2")
def test_nobody_gets_in_without_a_token(server: RotaServer) -> None:
    for token in ("rota_wrong", server.token[:-1], server.token + "x"):
        with server.impatient(token) as client, pytest.raises(Unauthorised):
            client.me()
    status, problem, _ = server.rest("GET", "/v1/jobs", Authorization="")
    assert (status, problem["type"]) == (401, "/problems/unauthorised")
    assert stat.S_IMODE((server.data / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700


def test_the_same_key_is_carried_out_once(server: RotaServer) -> None:
    body = {"jobs": [shell("true", name="keyed", hold=True)]}
    first = server.rest("POST", "/v1/jobs", body, Idempotency_Key="once")
    again = server.rest("POST", "/v1/jobs", body, Idempotency_Key="once")
    assert first[0] == again[0] == 201
    assert again[1] == first[1]
    assert again[2]["idempotency-replayed"] == "true"
    assert len(list(server.client.jobs(name="keyed"))) == 1
    status, problem, _ = server.rest("POST", "/v1/jobs", {"jobs": [shell("false")]}, Idempotency_Key="once")
    assert (status, problem["type"]) == (422, "/problems/key-reused")
    for path in ("/v1/jobs", "/v1/jobs?dry_run=true"):
        status, problem, _ = server.rest("POST", path, body, Idempotency_Key="x" * 201)
        assert (status, problem["field"]) == (422, "Idempotency-Key")


def test_a_dry_run_changes_nothing(server: RotaServer) -> None:
    client, node = server.client, server.node
    job = server.submit_one(shell("true", hold=True))
    [latest] = client.events(subject=job)
    assert client.submit(shell("true"), dry_run=True).dry_run
    for change in (
        client.cancel(job, dry_run=True),
        client.release(job, dry_run=True),
        client.remove_token(next(client.tokens()).id, dry_run=True),
    ):
        assert change.dry_run
    assert client.set_queue("side", QueueMode.CLOSED, dry_run=True).state is QueueMode.CLOSED
    assert client.set_node(node, cordoned=True, dry_run=True).cordoned
    client.set_maintenance("m", "2040-01-01T00:00:00Z", lasting="1h", dry_run=True)
    client.set_reservation(
        "r", "2040-01-01T00:00:00Z", lasting="1h", nodes=[node], tenants=["red"], dry_run=True
    )
    client.set_project("p", description="d", dry_run=True)
    assert client.add_token("ada", Role.VIEWER, dry_run=True).secret is None
    with pytest.raises(Conflict):
        client.extend(job, "+1h", dry_run=True)
    assert not list(client.events(after=latest.seq))
    assert client.job(job).job.phase is Phase.CREATED
    assert not list(client.maintenance())
    assert not list(client.reservations())


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"command": []}, "jobs[0].command"),
        ({"command": ["true"], "resources": {"cpu": -1}}, "jobs[0].resources.cpu"),
        ({"command": ["true"], "resources": {"cpu": "1e999"}}, "jobs[0].resources.cpu"),
        ({"command": ["true"], "time_limit": "soon"}, "jobs[0].time_limit"),
        ({"command": ["true"], "directory": "../../etc"}, "jobs[0].directory"),
        ({"command": ["true\0"]}, "jobs[0].command[0]"),
        ({"command": ["true"], "outputs": ["../../etc/passwd"]}, "jobs[0].outputs[0]"),
        (
            {"command": ["true"], "files": [{"path": "/etc/x", "sha256": "0" * 64, "size": 1}]},
            "jobs[0].files[0].path",
        ),
        ({"command": ["true"], "colour": "red"}, "jobs[0].colour"),
        ({"command": ["true"], "array": "0-1000000000"}, "jobs[0].array"),
        ({"command": ["true"], "tasks": 10**30}, "jobs[0].tasks"),
        ({"command": ["true"], "environment": {"A=B": "x"}}, "jobs[0].environment"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(server: RotaServer, job: object, field: str) -> None:
    [latest] = server.client.events(subject=server.submit_one(shell("true", hold=True)))
    status, problem, headers = server.rest("POST", "/v1/jobs", {"jobs": [shell("true"), job][::-1]})
    assert status in (400, 422)
    assert headers["content-type"] == "application/problem+json"
    assert problem["field"].startswith(field)
    assert problem["help"]
    assert not list(server.client.events(after=latest.seq))
