"""Routes of agents: invitations, joining, renewing, revoking."""

from __future__ import annotations

import pytest

from rota.api.people import Role
from rota.model.taints import Effect, Taint
from rota.store.writing.batch import AgentNode
from tests.unit.server.fake_desk import Service
from tests.unit.server.fake_state import NOW_MS
from tests.unit.server.problems import assert_problem

pytestmark = pytest.mark.covers("ops-2")


def test_agents_are_listed_with_what_is_seen_of_them() -> None:
    here, one, old = Service().ask("GET", "/v1/agents").json()["items"]
    assert (here["name"], here["state"], here["joined"], here["expires"]) == ("here", "connected", None, None)
    assert (one["name"], one["state"], one["version"], one["clock_skew_s"]) == (
        "n1",
        "connected",
        "1.0",
        -2.5,
    )
    assert one["last_heartbeat"]
    assert (old["name"], old["state"], old["last_heartbeat"]) == ("old", "revoked", None)


def test_an_invitation_says_what_node_it_will_be_and_its_token_once() -> None:
    service = Service()
    form = {
        "name": "gpu-1",
        "pool": "gpu",
        "labels": {"zone": "a", "arch": "arm64"},
        "taints": ["gpu=yes:NoSchedule"],
        "price_per_hour": "1.5",
    }
    response = service.ask("POST", "/v1/agents/tokens", json=form, headers={"idempotency-key": "k"})
    assert response.status_code == 201
    assert response.json()["token"] == "rotajoin_secret"
    invited = service.desk.enrolment.invited
    assert invited is not None
    assert invited.name == "gpu-1"
    assert invited.node == AgentNode(
        "gpu",
        (("arch", "arm64"), ("zone", "a")),
        (Taint("gpu", Effect.NO_SCHEDULE, "yes", NOW_MS),),
        1_500_000,
    )
    again = service.ask("POST", "/v1/agents/tokens", json=form, headers={"idempotency-key": "k"})
    assert (again.status_code, again.json()["token"], again.json()["id"]) == (201, None, "j1")


def test_a_dry_run_invites_nobody() -> None:
    service = Service()
    response = service.ask("POST", "/v1/agents/tokens?dry_run=true", json={})
    assert (response.status_code, response.json()["token"]) == (200, None)
    assert not service.desk.changes


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "form, field",
    [
        ({"pool": "a b"}, "pool"),
        ({"labels": {"a b": ""}}, "labels"),
        ({"labels": {"a": "b c"}}, "labels.a"),
        ({"taints": ["x"]}, "taints[0]"),
        ({"price_per_hour": "-1"}, "price_per_hour"),
        ({"name": "x" * 64}, "name"),
        ({"labels": {str(number): "" for number in range(101)}}, "labels"),
    ],
)
def test_a_bad_invitation_names_the_field(form: dict[str, object], field: str) -> None:
    service = Service()
    problem = assert_problem(service.ask("POST", "/v1/agents/tokens", json=form), 422, "bad-input")
    assert problem["field"] == field
    assert not service.desk.changes


def test_joining_needs_an_invitation_and_no_token() -> None:
    service = Service()
    form = {"token": "j1", "name": "gpu-1", "request": "CSR", "proof": "00"}
    response = service.ask("POST", "/v1/agents/join", role=None, json=form)
    assert response.status_code == 201
    assert response.json() == {
        "name": "gpu-1",
        "certificate": "PEM",
        "authority": "CA",
        "agents_address": "rota.example.org:8427",
    }
    assert service.desk.changes == [("join", "gpu-1", "CSR", "00")]
    response = service.ask("POST", "/v1/agents/join", role=None, json={**form, "token": "j2"})
    assert assert_problem(response, 422, "bad-input")["field"] == "token"


def test_renewing_needs_a_signature() -> None:
    service = Service()
    body = b'{"request": "CSR"}'
    headers = {"content-type": "application/json"}
    response = service.ask("POST", "/v1/agents/renew", role=None, content=body, headers=headers)
    assert assert_problem(response, 422, "bad-input")["field"] == "Authorization"
    headers["authorization"] = "RotaAgent good"
    response = service.ask("POST", "/v1/agents/renew", role=None, content=body, headers=headers)
    assert response.status_code == 201
    assert service.desk.changes == [("renew", body, "CSR")]


def test_revoking_is_for_operators() -> None:
    service = Service()
    assert service.ask("POST", "/v1/agents/n1/revoke", Role.OPERATOR).json()["changed"] == ["n1"]
    assert service.desk.changes == [("revoke", "n1")]
    assert_problem(service.ask("POST", "/v1/agents/x/revoke"), 404, "not-found")
