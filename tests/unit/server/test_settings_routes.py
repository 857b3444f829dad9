"""What operators and admins set: nodes, queues, the calendar, projects, tokens."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rota.api.people import Role
from rota.control.errors import Unavailable
from rota.control.tokens import MOST_GENERATIONS
from rota.control.versions import version_of
from rota.model.calendar import QueueMode
from rota.model.ids import NodeName
from rota.server.http.limits import Limits
from rota.server.identity.access import secret_hash
from rota.store.writing.batch import NodeSettings, Project, Token
from tests.unit.server.fake_desk import Service
from tests.unit.server.fake_state import NOW_MS
from tests.unit.server.problems import assert_problem

PERIOD = {"start": "2027-03-01T06:00:00Z", "for": "2h"}
BOOKED = {**PERIOD, "nodes": ["n1"], "tenants": ["vision"]}


def test_a_change_to_a_node_leaves_the_rest_as_it_is() -> None:
    service = Service()
    service.ask(
        "PATCH", "/v1/nodes/n1", Role.OPERATOR, json={"taints": ["gpu=a:NoExecute"], "message": "hot"}
    )
    node = service.ask("PATCH", "/v1/nodes/n1", Role.OPERATOR, json={"cordoned": True}).json()
    assert (node["cordoned"], node["draining"], node["message"]) == (True, False, "hot")
    assert node["taints"] == ["own:NoSchedule", "gpu=a:NoExecute"]
    assert service.desk.known_nodes["n1"].taints[0].added_ms == NOW_MS


def test_a_dry_run_shows_the_node_as_it_would_be() -> None:
    service = Service()
    change = {"draining": True, "taints": ["a:NoSchedule"]}
    node = service.ask("PATCH", "/v1/nodes/n1?dry_run=true", json=change).json()
    assert (node["draining"], node["taints"]) == (True, ["own:NoSchedule", "a:NoSchedule"])
    assert not service.desk.changes


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "form, field",
    [
        ({"taints": ["gpu"]}, "taints[0]"),
        ({"taints": ["a:NoSchedule", "a=b:NoSchedule"]}, "taints[1]"),
        ({"taints": [f"{'x' * 300}:NoSchedule"]}, "taints[0]"),
        ({"cordoned": "yes"}, "cordoned"),
        ({"message": 1}, "message"),
    ],
)
def test_bad_changes_to_nodes_name_their_field(form: dict[str, Any], field: str) -> None:
    service = Service()
    problem = assert_problem(service.ask("PATCH", "/v1/nodes/n1", json=form), 422, "bad-input")
    assert problem["field"] == field
    assert not service.desk.changes


@pytest.mark.covers("time-6")
def test_a_queue_is_paused_and_says_why() -> None:
    service = Service()
    form = {"state": "paused", "message": "file server down"}
    assert service.ask("PUT", "/v1/queues/default?dry_run=true", json=form).json()["state"] == "paused"
    assert service.desk.queue.mode is QueueMode.OPEN
    assert service.ask("PUT", "/v1/queues/default", json=form).json()["message"] == "file server down"
    assert service.desk.queue.since_ms == NOW_MS
    assert_problem(service.ask("PUT", "/v1/queues/other", json=form), 404, "not-found")
    assert_problem(service.ask("PUT", "/v1/queues/default", json={"state": "asleep"}), 422, "bad-input")


def test_maintenance_is_announced_and_removed() -> None:
    service = Service()
    window = service.ask("PUT", "/v1/maintenance/roof", json={**PERIOD, "nodes": ["n2", "n1", "n2"]}).json()
    assert (window["end"], window["nodes"]) == ("2027-03-01T08:00:00Z", ["n1", "n2"])
    assert service.ask("DELETE", "/v1/maintenance/disks").json()["changed"] == ["disks"]
    assert [change[0] for change in service.desk.changes] == ["maintenance", "remove maintenance"]
    assert_problem(service.ask("DELETE", "/v1/maintenance/roof"), 404, "not-found")


def test_reservations_are_whole_nodes_or_shares() -> None:
    service = Service()
    assert service.ask("PUT", "/v1/reservations/class", json=BOOKED).json()["resources"] is None
    share = {**BOOKED, "resources": {"cpu": "500m", "memory": "1Gi", "licence": 2}, "gpus": 1}
    shown = service.ask("PUT", "/v1/reservations/a/b", json=share).json()
    assert (shown["name"], shown["gpus"]) == ("a/b", 1)
    assert shown["resources"] == {"cpu": 0.5, "memory": 2**30, "licence": 2}


def test_reservations_of_others_are_not_listed() -> None:
    service = Service()
    assert len(service.ask("GET", "/v1/reservations", Role.VIEWER).json()["items"]) == 1
    assert service.ask("GET", "/v1/reservations", "eve").json()["items"] == []


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "change, field",
    [
        ({"start": "soon"}, "start"),
        ({"start": 1e18}, "start"),
        ({"for": "0"}, "for"),
        ({"for": -1}, "for"),
        ({"end": "2028-01-01T00:00:00Z"}, "end"),
        ({"nodes": []}, "nodes"),
        ({"nodes": ["n3"]}, "nodes[0]"),
        ({"tenants": []}, "tenants"),
        ({"tenants": ["a/b/c"]}, "tenants[0]"),
        ({"tenants": ["a//"]}, "tenants[0]"),
        ({"resources": {"cpu": "lots"}}, "resources.cpu"),
        ({"resources": {"cpu": 0}}, "resources"),
        ({"gpus": -1}, "gpus"),
    ],
)
def test_bad_bookings_name_their_field(change: dict[str, Any], field: str) -> None:
    service = Service()
    problem = assert_problem(
        service.ask("PUT", "/v1/reservations/x", json={**BOOKED, **change}), 422, "bad-input"
    )
    assert problem["field"] == field
    assert not service.desk.changes


def test_an_end_comes_after_its_start() -> None:
    form = {"start": PERIOD["start"], "end": PERIOD["start"]}
    problem = assert_problem(Service().ask("PUT", "/v1/maintenance/x", json=form), 422, "bad-input")
    assert problem["field"] == "end"


@pytest.mark.covers("ops-2")
class TestProjects:
    def test_only_ones_own_are_listed(self) -> None:
        page = Service().ask("GET", "/v1/projects", Role.VIEWER).json()
        assert [one["name"] for one in page["items"]] == ["vision"]

    def test_project_admins_change_their_own_and_make_none(self) -> None:
        service = Service()
        form = {"description": "d", "members": {"bob": "submitter"}}
        project = service.ask("PUT", "/v1/projects/vision", Role.PROJECT_ADMIN, json=form).json()
        assert project["members"] == {"bob": "submitter"}
        for name in ("secret", "new"):
            response = service.ask("PUT", f"/v1/projects/{name}", Role.PROJECT_ADMIN, json=form)
            assert_problem(response, 404, "not-found")
        assert len(service.desk.changes) == 1
        assert service.ask("PUT", "/v1/projects/new", Role.ADMIN, json=form).status_code == 200

    def test_nobody_gives_more_than_they_have(self) -> None:
        form = {"members": {"bob": "admin"}}
        response = Service().ask("PUT", "/v1/projects/vision", Role.PROJECT_ADMIN, json=form)
        assert assert_problem(response, 403, "forbidden")["field"] == "members.bob"


class TestVersions:
    """Nobody undoes a change that they haven't seen."""

    def test_a_project_that_was_changed_meanwhile(self) -> None:
        service = Service()
        [seen] = service.ask("GET", "/v1/projects", Role.VIEWER).json()["items"]
        service.desk.known_projects["vision"] = Project("vision", "other", NOW_MS)
        stale = {"if-match": f'"{seen["version"]}"'}
        response = service.ask("PUT", "/v1/projects/vision", json={"description": "mine"}, headers=stale)
        assert_problem(response, 412, "changed")
        assert not service.desk.changes
        # Whoever lost the answer asks once more for what is so by now.
        response = service.ask("PUT", "/v1/projects/vision", json={"description": "other"}, headers=stale)
        assert response.status_code == 200
        fresh = {"if-match": response.json()["version"]}
        response = service.ask("PUT", "/v1/projects/vision", json={"description": "mine"}, headers=fresh)
        assert response.status_code == 200

    def test_a_node_that_was_changed_meanwhile(self) -> None:
        service = Service()
        headers = {"if-match": version_of(NodeSettings(NodeName("n1")))}
        form = {"taints": ["gpu=a:NoExecute"]}
        assert service.ask("PATCH", "/v1/nodes/n1", json=form, headers=headers).status_code == 200
        form = {"taints": ["gpu=b:NoExecute"]}
        assert_problem(service.ask("PATCH", "/v1/nodes/n1", json=form, headers=headers), 412, "changed")
        assert service.ask("PATCH", "/v1/nodes/n1", json=form).status_code == 200


@pytest.mark.covers("trust-3")
def test_where_the_database_is_is_told_to_operators_alone() -> None:
    service = Service()
    service.desk.error = Unavailable("nothing can be kept", "ask again", "no route to db-7.internal:5432")
    for role in Role:
        response = service.ask("POST", "/v1/jobs/17/hold", role)
        if role is not Role.VIEWER:
            problem = assert_problem(response, 503, "unavailable")
            is_told = "db-7.internal" in problem["detail"]
            assert is_told is (role in (Role.OPERATOR, Role.ADMIN))


@pytest.mark.covers("ops-2")
class TestTokens:
    def test_only_the_hash_of_a_secret_is_kept(self) -> None:
        service = Service()
        form = {"user": "bob", "role": "submitter", "projects": ["vision"], "expires_in": "30d"}
        made = service.ask("POST", "/v1/tokens", json=form)
        assert made.status_code == 201
        ((_, token),) = service.desk.changes
        assert isinstance(token, Token)
        assert token.secret_sha256 == secret_hash(made.json()["secret"])
        assert token.expires_ms == NOW_MS + 30 * 86_400_000
        assert made.json()["secret"] not in repr(token)

    def test_a_dry_run_makes_no_secret(self) -> None:
        assert (
            Service().ask("POST", "/v1/tokens?dry_run=true", json={"role": "viewer"}).json()["secret"] is None
        )

    @pytest.mark.parametrize(
        "form, field",
        [
            ({"role": "operator"}, "role"),
            ({"role": "viewer", "user": "bob"}, "user"),
            ({"role": "viewer", "projects": ["vision", "secret"]}, "projects[1]"),
        ],
    )
    def test_nobody_gives_more_than_they_have(self, form: dict[str, Any], field: str) -> None:
        service = Service()
        response = service.ask("POST", "/v1/tokens", Role.SUBMITTER, json=form)
        assert assert_problem(response, 403, "forbidden")["field"] == field
        assert not service.desk.changes

    def test_a_token_cannot_prolong_itself(self) -> None:
        service = Service()
        viewer = service.desk.known_tokens[0]
        service.desk.known_tokens[0] = Token(
            viewer.id, viewer.secret_sha256, "ada", Role.VIEWER, None, 0, expires_ms=NOW_MS + 1000
        )
        for form in ({"role": "viewer"}, {"role": "viewer", "expires_in": "9d"}):
            service.ask("POST", "/v1/tokens", Role.VIEWER, json=form)
        assert [token.expires_ms for _, token in service.desk.changes] == [NOW_MS + 1000] * 2

    def test_one_sees_and_removes_ones_own(self) -> None:
        service = Service()
        listed = service.ask("GET", "/v1/tokens", "eve").json()["items"]
        assert [one["id"] for one in listed] == ["eve"]
        assert listed[0]["last_used"] is not None
        assert_problem(service.ask("DELETE", "/v1/tokens/admin", "eve"), 404, "not-found")
        assert service.ask("DELETE", "/v1/tokens/eve", "eve").status_code == 200
        assert service.ask("DELETE", "/v1/tokens/eve", Role.ADMIN).status_code == 200

    @pytest.mark.covers("trust-3")
    def test_a_lesser_token_removes_no_better_one(self) -> None:
        service = Service()
        for better in ("submitter", "operator", "admin"):
            assert_problem(service.ask("DELETE", f"/v1/tokens/{better}", Role.VIEWER), 403, "forbidden")
        assert not service.desk.changes
        assert service.ask("DELETE", "/v1/tokens/viewer", Role.SUBMITTER).status_code == 200

    @pytest.mark.covers("trust-3")
    def test_a_token_knows_what_it_was_made_with(self) -> None:
        service = Service()
        made = service.ask("POST", "/v1/tokens", Role.SUBMITTER, json={"role": "viewer"}).json()
        ((_, token),) = service.desk.changes
        assert (made["parent"], token.parent, token.projects) == ("submitter", "submitter", ("vision",))

    @pytest.mark.covers("trust-3")
    def test_there_is_an_end_to_making_one_with_the_other(self) -> None:
        service = Service()
        first = service.desk.known_tokens[0]
        line = [replace(first, id=f"g{at}", parent=f"g{at + 1}") for at in range(MOST_GENERATIONS)]
        line[-1] = replace(line[-1], parent="")
        service.desk.known_tokens[:1] = line
        assert_problem(
            service.ask("POST", "/v1/tokens", Role.VIEWER, json={"role": "viewer"}), 403, "forbidden"
        )
        service.desk.known_tokens.remove(line[-1])
        assert_problem(service.ask("GET", "/v1/me", Role.VIEWER), 401, "unauthorised")

    @pytest.mark.covers("trust-3")
    def test_no_token_outlasts_the_greatest_age(self) -> None:
        service = Service(Limits(token_age_ms=5000))
        for form in ({"role": "viewer"}, {"role": "viewer", "expires_in": "9d"}):
            service.ask("POST", "/v1/tokens", json=form)
        service.ask("POST", "/v1/tokens", json={"role": "viewer", "expires_in": "2s"})
        ends = [token.expires_ms - NOW_MS for _, token in service.desk.changes]
        assert ends == [5000, 5000, 2000]

    @pytest.mark.covers("trust-3")
    @pytest.mark.slow
    def test_tokens_are_not_made_without_end(self) -> None:
        service = Service(Limits(burst=10**9))
        answers = [service.ask("POST", "/v1/tokens", json={"role": "viewer"}) for _ in range(61)]
        assert [one.status_code for one in answers[:60]] == [201] * 60
        assert_problem(answers[60], 429, "too-many-requests")


def test_a_token_knows_whom_it_stands_for() -> None:
    service = Service()
    assert service.ask("GET", "/v1/me", "eve").json() == {
        "user": "eve",
        "role": "viewer",
        "projects": ["secret"],
        "csrf": None,
    }
    assert service.ask("GET", "/v1/me", Role.OPERATOR).json()["projects"] is None


def test_health_is_told_without_a_token_and_causes_are_not() -> None:
    service = Service()
    assert service.ask("GET", "/healthz", None).status_code == 200
    assert service.ask("GET", "/readyz", None).status_code == 200
    service.desk.is_healthy = False
    response = service.ask("GET", "/readyz", None)
    assert_problem(response, 503, "unavailable")
    assert "/secret/place" not in response.text
    service.desk.is_healthy, service.desk.is_ready = True, False
    assert service.ask("GET", "/readyz", None).status_code == 503
    assert service.ask("GET", "/healthz", None).status_code == 200


def test_stats_are_told() -> None:
    assert Service().ask("GET", "/v1/stats").json()["scheduling"]["cycles"] == 3


@pytest.mark.covers("trust-4")
def test_limits_are_ones_own_unless_an_operator_asks() -> None:
    service = Service()

    def asked(path: str, role: Role) -> tuple[str, str, bool]:
        found = service.ask("GET", path, role).json()
        return found["user"], found["project"], found["exempt"]

    _, project, exempt = asked("/v1/limits", Role.ADMIN)
    assert (project, exempt) == ("default", True)
    assert asked("/v1/limits?user=bob&project=audio", Role.OPERATOR) == ("bob", "audio", False)
    own, project, exempt = asked("/v1/limits", Role.SUBMITTER)
    assert (project, exempt) == ("vision", False)
    assert asked(f"/v1/limits?user={own}&project=vision", Role.SUBMITTER) == (own, "vision", False)
    assert_problem(service.ask("GET", "/v1/limits?user=bob", Role.SUBMITTER), 403, "forbidden")
    assert_problem(service.ask("GET", "/v1/limits?project=audio", Role.SUBMITTER), 404, "not-found")
