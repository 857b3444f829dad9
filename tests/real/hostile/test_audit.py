"""Who did what is recorded, also of those who are refused, and nobody can flood or forge the record."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rota.api.audit import AuditDocument, Verdict
from rota.api.people import Role
from rota.sdk.client import Client
from rota.sdk.errors import Forbidden, NotFound, Unauthorised
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-6", "ops-2")

GUESSES = 200
LINES_PER_CALLER = 5
"""Of refusals of one kind within a minute; a test may straddle the end of one."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    made = RotaServer(tmp_path_factory.mktemp("audit"), "--log-format", "json")
    made.start()
    for project in ("red", "green", "blue"):
        made.client.set_project(project)
    yield made
    made.remove()


@pytest.fixture
def client_of(server: RotaServer) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(user: str, role: Role, projects: list[str] | None = None) -> Client:
        token = server.client.add_token(user, role, projects=projects)
        made.append(server.impatient(token.secret))
        return made[-1]

    yield make
    for client in made:
        client.close()


def recorded(client: Client, count: int = 1, **wanted: Any) -> list[AuditDocument]:
    """Once there are so many, the newest first: refusals are written a moment later."""

    def find() -> list[AuditDocument] | None:
        found = list(client.audit(**wanted))
        return found if len(found) >= count else None

    return eventually(find, f"{count} records of {wanted}")


def test_a_change_is_recorded_with_who_whence_and_what(
    server: RotaServer, client_of: Callable[..., Client]
) -> None:
    ada = client_of("ada", Role.SUBMITTER, ["red"])
    [token] = [one for one in server.client.tokens() if one.user == "ada"]
    [job] = ada.submit(shell("true", project="red", hold=True)).jobs
    ada.cancel(job.id)
    cancelled, submitted = server.client.audit(subject=job.id)
    for one in (submitted, cancelled):
        assert (one.verdict, one.user, one.token) == (Verdict.DONE, "ada", token.id)
        assert (one.address, one.project, one.times) == ("127.0.0.1", "red", 1)
        assert len(one.request) == 16
    assert (submitted.method, submitted.route, submitted.status) == ("POST", "/v1/jobs", 201)
    assert (cancelled.route, cancelled.status) == ("/v1/jobs/{job}/cancel", 200)
    assert submitted.first_event is not None
    [event] = [one for one in server.client.events(subject=job.id) if one.seq == submitted.first_event]
    assert (event.kind, event.by) == ("job.Submitted", "ada")


def test_an_answer_carries_the_id_of_its_record(server: RotaServer) -> None:
    _, project, headers = server.rest("PUT", "/v1/projects/traced", {})
    [record] = list(server.client.audit(subject="traced"))
    assert (project["name"], record.request) == ("traced", headers["x-request-id"])


def test_dry_runs_reads_and_repeated_requests_leave_no_record(server: RotaServer) -> None:
    newest = next(iter(server.client.audit())).seq
    server.rest("PUT", "/v1/projects/dry?dry_run=true", {})
    server.rest("GET", "/v1/jobs")
    server.rest("POST", "/v1/plan", {"jobs": [shell("true")]})
    for _ in range(3):
        server.rest("POST", "/v1/jobs", {"jobs": [shell("true")]}, Idempotency_Key="once")
    server.rest("PUT", "/v1/projects/last", {})
    recorded(server.client, subject="last")
    routes = [one.route for one in server.client.audit() if one.seq > newest]
    assert routes == ["/v1/projects/{name}", "/v1/jobs"]


def test_guessed_tokens_are_recorded_and_fill_nothing(server: RotaServer) -> None:
    log_before = server.log.stat().st_size
    for guess in range(GUESSES):
        status, _, _ = server.rest("GET", "/v1/jobs", Authorization=f"Bearer rota_{guess:043}")
        assert status == 401
    found = recorded(server.client, verdict=Verdict.REFUSED, address="127.0.0.1")
    guesses = [one for one in found if one.problem == "unauthorised" and one.route == "/v1/jobs"]
    assert 1 <= len(guesses) <= 2 * (LINES_PER_CALLER + 1)
    assert guesses[0].status == 401
    assert (guesses[0].user, guesses[0].token) == ("", "")
    text = server.log.read_bytes()[log_before:].decode()
    lines = [line for line in text.splitlines() if '"request.refused"' in line and "unauthorised" in line]
    assert 1 <= len(lines) <= 2 * (LINES_PER_CALLER + 1)
    assert '"address": "127.0.0.1"' in lines[0]
    assert "rota_000" not in text
    assert "rota_000" not in str(guesses)


def test_what_a_role_may_not_do_is_recorded_with_the_user(
    server: RotaServer, client_of: Callable[..., Client]
) -> None:
    eve = client_of("eve", Role.VIEWER, ["red"])
    with pytest.raises(Forbidden):
        eve.submit(shell("true", project="red"))
    with pytest.raises(Forbidden):
        eve.set_node("n1", cordoned=True)
    found = recorded(server.client, 2, user="eve", verdict=Verdict.REFUSED)
    assert {(one.problem, one.status) for one in found} == {("forbidden", 403)}
    assert {one.route for one in found} == {"/v1/jobs", "/v1/nodes/{name}"}
    assert next(one for one in found if one.route != "/v1/jobs").subject == "n1"


def test_a_removed_and_an_expired_token_are_told_apart(server: RotaServer) -> None:
    made = server.client.add_token("old", Role.VIEWER, expires_in="1ms")
    assert made.secret is not None
    eventually(lambda: server.rest("GET", "/v1/me", Authorization=f"Bearer {made.secret}")[0] == 401)
    [record] = [one for one in recorded(server.client, token=made.id) if one.verdict is Verdict.REFUSED][-1:]
    assert (record.user, record.detail) == ("old", "the token has expired")
    assert made.secret not in str(list(server.client.audit(token=made.id)))


def test_prying_into_other_projects_is_told_to_their_admins(
    server: RotaServer, client_of: Callable[..., Client]
) -> None:
    owner, admin = (
        client_of("ann", Role.SUBMITTER, ["green"]),
        client_of("gil", Role.PROJECT_ADMIN, ["green"]),
    )
    thief = client_of("mallory", Role.PROJECT_ADMIN, ["blue"])
    [job] = owner.submit(shell("true", project="green", hold=True)).jobs
    for pry in (lambda: thief.job(job.id), lambda: list(thief.logs(job.id)), lambda: thief.cancel(job.id)):
        with pytest.raises(Forbidden):
            pry()
    with pytest.raises(Forbidden):
        thief.submit(shell("true", project="green"))
    seen = recorded(admin, 4, user="mallory")
    assert [one.problem for one in seen] == ["forbidden", "not-yours", "not-yours", "not-yours"]
    assert {one.project for one in seen} == {"green"}
    assert not list(thief.audit(project="green"))
    assert not [one for one in thief.audit() if one.project != "blue"]
    owner.cancel(job.id)
    with pytest.raises(Forbidden):
        list(owner.audit())
    with pytest.raises(Forbidden):
        admin.check_audit()


def test_operators_who_read_what_others_wrote_are_recorded(
    server: RotaServer, client_of: Callable[..., Client]
) -> None:
    owner, operator = client_of("sam", Role.SUBMITTER, ["red"]), client_of("oscar", Role.OPERATOR)
    [job] = owner.submit(shell("echo private", project="red")).jobs
    server.over(job.id)
    assert b"private" in b"".join(one.data for one in owner.logs(job.id))
    assert b"private" in b"".join(one.data for one in operator.logs(job.id))
    [record] = recorded(server.client, user="oscar", subject=job.id)
    assert (record.verdict, record.route, record.project) == (Verdict.DONE, "/v1/jobs/{job}/logs", "red")
    assert not [one for one in server.client.audit(user="sam", subject=job.id) if one.method == "GET"]


def test_tokens_agents_and_the_first_token_are_recorded(server: RotaServer) -> None:
    made = server.client.add_token("tim", Role.VIEWER)
    server.client.remove_token(made.id)
    removed, added = server.client.audit(subject=made.id)
    assert [one.method for one in (added, removed)] == ["POST", "DELETE"]
    first = list(server.client.audit(until="2100-01-01T00:00:00Z"))[-1]
    assert (first.seq, first.user, first.method, first.address) == (1, "rota", "start", "")
    with suppress(NotFound):
        server.client.revoke_agent("nobody")
    [refused] = recorded(server.client, subject="nobody")
    assert (refused.verdict, refused.problem) == (Verdict.REFUSED, "not-found")


def test_the_command_shows_checks_and_fits(server: RotaServer) -> None:
    server.client.set_project("shown", description="x")
    lines = server.cli("audit", "--subject", "shown").splitlines()
    assert lines[0].split() == ["TIME", "USER", "ACTION", "VERDICT", "FROM"]
    assert lines[1].split()[2:] == ["PUT", "projects/shown", "done", "127.0.0.1"]
    narrow = server.rota("audit", environment={"COLUMNS": "80"}).stdout
    assert max(map(len, narrow.splitlines())) <= 80
    assert server.cli("audit", "--check").strip() == next(iter(server.client.audit())).hash
    assert '"subject":"shown"' in server.cli("audit", "--subject", "shown", "-o", "json")
    server.cli("audit", "--verdict", "perhaps", status=1)


def test_pages_hold_every_record_once(server: RotaServer) -> None:
    for number in range(5):
        server.client.set_project(f"page-{number}")
    whole = [one.seq for one in server.client.audit()]
    assert [one.seq for one in server.client.audit(limit=3)][: len(whole)] == whole
    assert whole == sorted(set(whole), reverse=True)
    some = server.client.audit(limit=1, verdict=Verdict.DONE, user=next(iter(server.client.tokens())).user)
    assert len(list(some)) > 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET by = 'somebody' WHERE seq = 3",
        "DELETE FROM audit WHERE seq = 3",
        "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
        "UPDATE audit SET address = '10.0.0.1' WHERE seq = 1",
    ],
)
def test_a_record_that_was_tampered_with_is_found(tmp_path: Path, change: str) -> None:
    server = RotaServer(tmp_path / "rota")
    server.start()
    try:
        for number in range(4):
            server.client.set_project(f"p{number}")
        assert server.client.check_audit().broken is None
        server.stop()
        with sqlite3.connect(server.data / "rota.db") as database:
            database.execute(change)
        database.close()
        server.start()
        assert server.client.check_audit().broken is not None
        server.cli("audit", "--check", status=2)
    finally:
        server.remove()


def test_a_change_and_its_record_survive_a_kill_together(tmp_path: Path) -> None:
    server = RotaServer(tmp_path / "rota")
    server.start()
    try:
        ids = server.submit(*(shell("true", hold=True) for _ in range(20)))
        server.kill()
        server.start()
        [record] = server.client.audit(subject=ids[0])
        assert (record.verdict, record.events) == (Verdict.DONE, 20)
        assert server.client.check_audit().broken is None
    finally:
        server.remove()


def test_without_a_token_nobody_reads_it(server: RotaServer) -> None:
    with server.impatient("rota_" + "x" * 43) as stranger, pytest.raises(Unauthorised):
        list(stranger.audit())
