"""What users tried in order to get more rights than they were given, or to keep them longer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import urllib3

from rota.api.people import Role
from rota.sdk.errors import Conflict
from tests.real.server.rota_server import PATIENCE_S, RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-3")

HEARTBEAT_S = 0.3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaServer]:
    settings = {
        "ROTA_SERVER_LIMITS_HEARTBEAT": f"{HEARTBEAT_S:.1f}s",
        "ROTA_SERVER_LIMITS_TOKENS_PER_USER": "30",
    }
    server = RotaServer(tmp_path_factory.mktemp("rota"), environment=settings)
    server.start()
    yield server
    server.remove()


class User:
    """Who has a token, and what they ask with it."""

    def __init__(self, server: RotaServer, token: dict[str, Any]) -> None:
        self._server = server
        self.id: str = token["id"]
        self.secret: str = token["secret"]
        self.token = token

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        status, answer, _ = self._server.rest(method, path, body, Authorization=f"Bearer {self.secret}")
        return status, answer

    def mint(self, role: str, projects: list[str] | None = None, **more: object) -> User:
        status, token = self.ask("POST", "/v1/tokens", _stated(role=role, projects=projects, **more))
        assert status == 201, token
        return User(self._server, token)

    def submits_to(self, project: str) -> int:
        body = {"jobs": [shell("true", project=project)]}
        return self.ask("POST", "/v1/jobs?dry_run=true", body)[0]

    def takes_over(self, project: str) -> int:
        body = {"members": {self.token["user"]: "project-admin"}}
        return self.ask("PUT", f"/v1/projects/{project}?dry_run=true", body)[0]

    def sees(self) -> list[str] | None:
        status, me = self.ask("GET", "/v1/me")
        assert status == 200, me
        projects: list[str] | None = me["projects"]
        return projects

    @contextmanager
    def stream(self, path: str) -> Iterator[urllib3.BaseHTTPResponse]:
        with urllib3.PoolManager() as pool:
            answer = pool.request(
                "GET",
                f"{self._server.url}{path}",
                headers={"Authorization": f"Bearer {self.secret}"},
                preload_content=False,
                timeout=PATIENCE_S,
                retries=False,
            )
            assert answer.status == 200
            try:
                yield answer
            finally:
                answer.close()


def _stated(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def admin(server: RotaServer) -> User:
    return User(server, {"id": "", "user": "root", "secret": server.token})


def set_members(server: RotaServer, project: str, **members: str) -> None:
    status, answer = admin(server).ask("PUT", f"/v1/projects/{project}", {"members": members})
    assert status == 200, answer


def new_user(server: RotaServer, user: str, role: str, projects: list[str] | None = None) -> User:
    return admin(server).mint(role, projects, user=user)


# -- tokens are made with the rights of the role that they are for


def test_who_may_look_does_not_become_admin_of_a_project_by_making_a_token(server: RotaServer) -> None:
    set_members(server, "alpha", carl="project-admin")
    set_members(server, "secret", carl="viewer")
    carl = new_user(server, "carl", "project-admin")
    assert (carl.submits_to("secret"), carl.takes_over("secret")) == (403, 404)
    made = carl.mint("project-admin")
    assert made.token["projects"] is None
    assert (made.submits_to("secret"), made.takes_over("secret")) == (403, 404)
    assert (made.submits_to("alpha"), made.takes_over("alpha")) == (200, 200)
    for role in ("submitter", "project-admin"):
        status, problem = carl.ask("POST", "/v1/tokens", {"role": role, "projects": ["secret"]})
        assert (status, problem["field"]) == (403, "projects[0]")
    looking = carl.mint("viewer", ["secret"])
    assert (looking.sees(), looking.submits_to("secret")) == (["secret"], 403)


def test_rights_are_not_frozen_by_making_a_token(server: RotaServer) -> None:
    """An admin takes away the memberships, and then the token that others were made with."""
    set_members(server, "red", dora="submitter")
    dora = new_user(server, "dora", "submitter")
    named, unnamed = dora.mint("submitter", ["red"]), dora.mint("submitter")
    child = named.mint("viewer")
    assert child.token["projects"] == ["red"]
    assert [one.submits_to("red") for one in (named, unnamed)] == [200, 200]
    set_members(server, "red")
    assert [one.submits_to("red") for one in (named, unnamed)] == [403, 403]
    assert [one.sees() for one in (named, unnamed, child)] == [[], [], []]
    set_members(server, "red", dora="submitter")
    assert child.sees() == ["red"]
    status, removed = admin(server).ask("DELETE", f"/v1/tokens/{dora.id}")
    assert status == 200
    assert sorted(removed["changed"]) == sorted(one.id for one in (dora, named, unnamed, child))
    for one in (dora, named, unnamed, child):
        assert one.ask("GET", "/v1/me")[0] == 401


def test_a_lesser_role_as_a_member_is_less_for_all_tokens(server: RotaServer) -> None:
    set_members(server, "amber", ida="submitter")
    ida = new_user(server, "ida", "submitter")
    named = ida.mint("submitter", ["amber"])
    set_members(server, "amber", ida="viewer")
    assert (named.sees(), named.submits_to("amber")) == (["amber"], 403)


def test_a_token_that_an_admin_made_for_projects_needs_no_membership(server: RotaServer) -> None:
    set_members(server, "blue")
    guest = new_user(server, "guest", "submitter", ["blue"])
    assert (guest.sees(), guest.submits_to("blue"), guest.submits_to("red")) == (["blue"], 200, 403)
    assert guest.mint("viewer").sees() == ["blue"]


def test_a_token_expires_with_the_one_that_it_was_made_with(server: RotaServer) -> None:
    short = admin(server).mint("submitter", ["blue"], user="finn", expires_in="2s")
    made = short.mint("viewer", expires_in="30d")
    assert made.token["expires"] == short.token["expires"]
    eventually(lambda: made.ask("GET", "/v1/me")[0] == 401, "the tokens to expire")
    assert short.ask("GET", "/v1/me")[0] == 401


def test_one_token_after_the_other_has_an_end(server: RotaServer) -> None:
    line = [new_user(server, "gus", "viewer")]
    while (answer := line[-1].ask("POST", "/v1/tokens", {"role": "viewer"}))[0] == 201:
        line.append(User(server, answer[1]))
    assert answer[0] == 403
    # The server's own token is the first.
    assert len(line) == 7
    assert line[-1].ask("GET", "/v1/me")[0] == 200
    admin(server).ask("DELETE", f"/v1/tokens/{line[2].id}")
    assert [one.ask("GET", "/v1/me")[0] for one in line] == [200, 200] + [401] * 5


def test_a_user_cannot_fill_the_server_with_tokens(server: RotaServer) -> None:
    hal = new_user(server, "hal", "viewer")
    for _ in range(29):
        hal.mint("viewer")
    status, problem = hal.ask("POST", "/v1/tokens", {"role": "viewer"})
    assert (status, problem["type"]) == (409, "/problems/conflict")
    assert "30 is the most" in problem["detail"]
    statuses = [hal.ask("POST", "/v1/tokens", {"role": "viewer"})[0] for _ in range(60)]
    assert set(statuses) <= {409, 429}


# -- a lesser token removes no better one


def test_the_token_of_a_dashboard_removes_no_better_ones(server: RotaServer) -> None:
    boss = new_user(server, "boss", "admin")
    dashboard = boss.mint("viewer")
    _, listed = dashboard.ask("GET", "/v1/tokens")
    assert {one["id"]: one["parent"] for one in listed["items"]}[dashboard.id] == boss.id
    assert dashboard.ask("DELETE", f"/v1/tokens/{boss.id}")[0] == 403
    assert boss.ask("GET", "/v1/me")[0] == 200
    rows = [line.split() for line in server.cli("token", "ls").splitlines()]
    assert any({dashboard.id, boss.id, "viewer"} <= set(row) for row in rows)
    own, equal = dashboard.mint("viewer"), boss.mint("viewer")
    for one in (own, equal, dashboard):
        assert dashboard.ask("DELETE", f"/v1/tokens/{one.id}")[0] == 200
    assert [one.ask("GET", "/v1/me")[0] for one in (own, equal, dashboard, boss)] == [401, 401, 401, 200]


def test_a_token_of_one_project_removes_none_of_another(server: RotaServer) -> None:
    one = new_user(server, "jon", "submitter", ["green"])
    other = new_user(server, "jon", "viewer", ["white"])
    member = new_user(server, "jon", "viewer")
    assert [one.ask("DELETE", f"/v1/tokens/{each.id}")[0] for each in (other, member)] == [403, 403]
    stranger = new_user(server, "kim", "submitter", ["green"])
    assert stranger.ask("DELETE", f"/v1/tokens/{one.id}")[0] == 404


# -- nobody undoes what they haven't seen


def test_changes_at_the_same_time_are_both_kept(server: RotaServer) -> None:
    """Of different fields of a node; of a project, the second is refused if it says what it has seen."""
    forms = [{"cordoned": True}, {"message": "disk"}, {"taints": ["gpu=a:NoSchedule"]}, {"draining": True}]
    with ThreadPoolExecutor(len(forms)) as pool:
        asked = [pool.submit(admin(server).ask, "PATCH", f"/v1/nodes/{server.node}", form) for form in forms]
        assert [one.result()[0] for one in asked] == [200] * len(forms)
    node = server.client.node(server.node)
    assert (node.cordoned, node.message, node.draining) == (True, "disk", True)
    assert "gpu=a:NoSchedule" in node.taints
    server.client.set_node(server.node, cordoned=False, message="", taints=[], draining=False)
    set_members(server, "shared")
    seen = next(one for one in server.client.projects() if one.name == "shared")
    with server.impatient() as client:
        client.set_project("shared", members={"ada": Role.VIEWER}, version=seen.version)
        with pytest.raises(Conflict, match="changed meanwhile"):
            client.set_project("shared", members={"bob": Role.VIEWER}, version=seen.version)
    server.cli("project", "set", "shared", "--description", "of all")
    server.cli("project", "set", "shared", "--member", "bob=viewer")
    after = next(one for one in server.client.projects() if one.name == "shared")
    assert (after.description, sorted(after.members)) == ("of all", ["ada", "bob"])


# -- streams end with the rights that they were opened with


@pytest.mark.parametrize("how", ["membership", "lesser role", "token", "parent", "project"])
def test_streams_end_with_rights(server: RotaServer, how: str) -> None:
    """Both while nothing happens in the project and when something does: nothing more is told."""
    project, user = f"stream-{how.replace(' ', '-')}", f"mia-{how.replace(' ', '-')}"
    needed = "submitter" if how == "lesser role" else "viewer"
    set_members(server, project, **{user: needed})
    parent = new_user(server, user, "submitter")
    # A log is read as a viewer: a membership with a lesser role leaves that, and takes the making of more.
    mia = parent.mint("viewer", [project])
    [job] = server.submit(shell("echo begun; sleep 30; echo secret-line", project=project))
    server.says(job, "begun")
    with (
        mia.stream("/v1/events/stream?last=1") as events,
        mia.stream(f"/v1/jobs/{job}/logs?follow=true") as logs,
        mia.stream(f"/v1/events/stream?project={project}") as silent,
    ):
        assert b"id: " in _some(events)
        assert b"begun" in _some(logs)
        match how:
            case "membership":
                set_members(server, project)
            case "lesser role":
                set_members(server, project, **{user: "viewer"})
            case "token":
                admin(server).ask("DELETE", f"/v1/tokens/{mia.id}")
            case "parent":
                admin(server).ask("DELETE", f"/v1/tokens/{parent.id}")
            case "project":
                admin(server).ask("DELETE", f"/v1/projects/{project}")
                set_members(server, project)
        [later] = server.submit(shell("echo told-later", name="told-later", project=project))
        if how == "lesser role":
            assert b"told-later" in _until(events, b"told-later")
            return
        rest = [_rest(one) for one in (events, logs, silent)]
    assert not any(b"told-later" in one or b"secret-line" in one for one in rest)
    assert mia.ask("GET", f"/v1/jobs/{later}")[0] in (401, 403)
    server.client.cancel(job)


def test_a_stream_ends_when_its_token_expires(server: RotaServer) -> None:
    short = admin(server).mint("viewer", ["blue"], user="ola", expires_in="5s")
    with short.mint("viewer").stream("/v1/events/stream") as events:
        _rest(events)
    assert short.ask("GET", "/v1/me")[0] == 401


def test_a_stream_goes_on_when_other_memberships_end(server: RotaServer) -> None:
    set_members(server, "kept", nora="viewer")
    set_members(server, "lost", nora="viewer")
    nora = new_user(server, "nora", "viewer")
    with nora.stream("/v1/events/stream?project=kept") as events, nora.stream("/v1/events/stream") as both:
        set_members(server, "lost")
        server.submit(shell("true", name="seen-later", project="kept"))
        assert b"seen-later" in _until(events, b"seen-later")
        # It was opened for both: whoever follows goes on from its last event, in what is left.
        assert b"seen-later" not in _rest(both)


def test_a_stream_that_goes_on_names_no_job_of_what_was_lost(server: RotaServer) -> None:
    set_members(server, "still", olga="viewer")
    set_members(server, "gone", olga="viewer")
    olga = new_user(server, "olga", "viewer")
    everything: dict[str, Any] = {"resources": {"cpu": server.cpus}, "time_limit": "10m"}
    [evicted] = server.submit(shell("sleep 60", project="still", priority="low", **everything))
    server.started(evicted)
    with olga.stream(f"/v1/events/stream?project=still&kind=job.Evicted&subject={evicted}") as events:
        set_members(server, "gone")
        [preemptor] = server.submit(shell("sleep 60", project="gone", priority="critical", **everything))
        told = _until(events, b"job.Evicted")
    assert b'"preemptor":"a job of another project"' in told
    assert b"gone" not in told
    for job in (evicted, preemptor):
        server.client.cancel(job)


def _some(answer: urllib3.BaseHTTPResponse) -> bytes:
    return _until(answer, b"")


def _until(answer: urllib3.BaseHTTPResponse, wanted: bytes) -> bytes:
    found = b""
    while not found or wanted not in found:
        piece = answer.read1()
        assert piece, f"ended before {wanted!r}: {found!r}"
        found += piece
    return found


def _rest(answer: urllib3.BaseHTTPResponse) -> bytes:
    """All that comes until the server ends it, in whichever way."""
    found = b""
    try:
        while piece := answer.read1():
            found += piece
    except (urllib3.exceptions.ProtocolError, urllib3.exceptions.HTTPError):
        pass
    return found
