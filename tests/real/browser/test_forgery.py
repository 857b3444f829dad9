"""What attackers try with browsers: forged requests, foreign answers, stolen cookies, other names."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from rota.api.audit import Verdict
from rota.api.people import Role
from tests.real.browser.browser import Browser, field, refused, server_of
from tests.real.server.oidc_provider import Provider
from tests.real.server.rota_server import RotaServer, eventually

pytestmark = pytest.mark.covers("trust-6", "ops-2")


# -- the way to the provider and back


def test_a_sign_in_is_for_the_browser_that_began_it(browser: Browser, other: Browser) -> None:
    """Login CSRF: an attacker's answer in somebody else's browser would sign them in as the attacker."""
    answer = browser.approved(browser.to_provider(), "mallory")
    refused(other.get(answer), 403, "began no such sign-in")
    other.to_provider()
    refused(other.get(answer), 403, "began no such sign-in")


@pytest.mark.parametrize("change", [r"state=[^&]*&?", r"(?<=state=)."])
def test_a_state_must_be_the_one_that_was_sent(browser: Browser, change: str) -> None:
    answer = re.sub(change, "", browser.approved(browser.to_provider(), "ada"))
    refused(browser.get(answer), 403, "began no such sign-in")


def test_an_answer_counts_once(browser: Browser, provider: Provider) -> None:
    provider.keep_codes()
    try:
        asked = browser.to_provider()
        flow = browser.cookies
        answer = browser.approved(asked, "ada")
        assert browser.get(answer).status_code == 200
        refused(browser.get(answer), 403, "began no such sign-in")
        browser.put_in(flow)
        refused(browser.get(answer), 401, "this sign-in is over")
    finally:
        provider.keep_codes(False)


def test_a_code_is_for_one_sign_in(browser: Browser, other: Browser) -> None:
    """An attacker who has somebody's code can't use it: it needs the secret of the browser that asked."""
    stolen = parse_qs(urlsplit(browser.approved(browser.to_provider(), "ada")).query)["code"][0]
    mine = other.approved(other.to_provider(), "mallory")
    refused(other.get(re.sub(r"code=\w+", f"code={stolen}", mine)), 401, "didn't take its code back")


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"nonce": "another"}, "of another sign-in"),
        ({"nonce": None}, "of another sign-in"),
        ({"iss": "https://evil.example.org"}, "of another provider"),
        ({"aud": "another"}, "for another application"),
        ({"exp": 1}, "has expired"),
        ({"preferred_username": "rota"}, "no user can sign in"),
        ({"preferred_username": "<b>x y"}, "is not a name"),
        ({"groups": ["unheard-of"]}, "none of your groups"),
    ],
)
def test_an_id_token_must_be_right(browser: Browser, provider: Provider, claims: Any, words: str) -> None:
    answer = browser.approved(browser.to_provider(), "ada")
    provider.claim_next(**claims)
    refused(browser.get(answer), 401, words)


def test_an_answer_of_another_provider_is_refused(browser: Browser) -> None:
    answer = re.sub(r"iss=[^&]*", "iss=https%3A%2F%2Fevil", browser.approved(browser.to_provider(), "ada"))
    refused(browser.get(answer), 403, "of another provider")


def test_whoever_the_provider_refuses_is_told(browser: Browser, server: RotaServer) -> None:
    answer = browser.approved(browser.to_provider(), "nobody")
    refused(browser.get(answer), 401, "the provider says: access_denied")
    shown = browser.get(re.sub("access_denied", quote("<script>alert(1)</script>"), answer))
    assert "<script>" not in shown.text

    def recorded() -> bool:
        refusals = server.client.audit(verdict=Verdict.REFUSED)
        return any((one.route, one.problem) == ("/sign-in/callback", "unauthorised") for one in refusals)

    eventually(recorded, "the record of the refusal")


ELSEWHERE = [
    "//evil.example.org",
    "/\\evil.example.org",
    "\\\\evil.example.org",
    "https:evil.example.org",
    "https://evil.example.org",
    "javascript:alert(1)",
    "/\t/evil.example.org",
    "/\n/evil.example.org",
    " //evil.example.org",
    "evil",
    "/" + "x" * 1000,
]


@pytest.mark.parametrize("where", ELSEWHERE)
def test_nobody_is_sent_elsewhere(browser: Browser, where: str, server: RotaServer) -> None:
    for path in ("/sign-in", "/sign-in/provider"):
        answer = browser.get(f"{path}?return={quote(where, safe='')}")
        assert answer.status_code == 422
        assert "location" not in answer.headers
    page = browser.get("/sign-in").text
    form = {"token": server.token, "csrf": field(page, "csrf"), "return": where}
    assert browser.post("/sign-in/token", data=form).status_code == 422


def test_a_changed_cookie_matches_nothing(browser: Browser) -> None:
    answer = browser.approved(browser.to_provider("/a"), "ada")
    began, secret, _ = browser.cookies["rota-sign-in"].split(".")
    browser.clear()
    browser.put_in({"rota-sign-in": f"{began}.{secret}.Ly9ldmls"})
    refused(browser.get(answer), 403, "began no such sign-in")


# -- sessions


def test_a_cookie_is_no_token_and_a_token_no_cookie(
    server: RotaServer, browser: Browser, other: Browser
) -> None:
    browser.sign_in("ada")
    secret = browser.cookies["rota-session"]
    assert other.get("/v1/me", authorization=f"Bearer {secret}").status_code == 401
    other.put_in({"rota-session": server.token})
    assert other.me() == 401


def test_a_header_goes_before_a_cookie(server: RotaServer, browser: Browser) -> None:
    browser.sign_in("ada")
    token = server.client.add_token("bob", Role.VIEWER)
    assert browser.get("/v1/me", authorization=f"Bearer {token.secret}").json()["user"] == "bob"
    assert browser.get("/v1/me", authorization=f"Bearer {token.secret}").json()["csrf"] is None
    assert browser.get("/v1/me", authorization="Bearer rota_wrong").status_code == 401
    assert browser.get("/v1/me", authorization="").status_code == 401
    # A token needs no proof against forged requests: no other site can make a browser send it.
    answer = browser.post(
        "/v1/plan",
        json={"jobs": []},
        origin="https://evil.example.org",
        headers={"authorization": f"Bearer {server.token}"},
    )
    assert answer.status_code != 403


def test_two_session_cookies_are_none(browser: Browser) -> None:
    browser.sign_in("ada")
    mine = browser.cookies["rota-session"]
    answer = browser.get("/v1/me", cookie=f"rota-session={mine}; rota-session=rota_evil")
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("csrf", "origin", "words"),
    [
        (None, "", "lacks its CSRF token"),
        ("0" * 64, "", "CSRF token is of another session"),
        ("of the other", "", "CSRF token is of another session"),
        ("mine", "https://evil.example.org", "a page of another site"),
        ("mine", "null", "a page of another site"),
        ("mine", None, "doesn't say which page"),
        ("mine", "https://127.0.0.1", "a page of another site"),
    ],
)
def test_changes_of_other_sites_are_refused(
    browser: Browser, other: Browser, csrf: str | None, origin: str | None, words: str
) -> None:
    browser.sign_in("ada", "ops")
    other.sign_in("mallory", "ops")
    known = {"mine": browser.me()["csrf"], "of the other": other.me()["csrf"]}
    sent = known.get(csrf or "", csrf)
    answer = browser.post("/v1/agents/tokens", json={}, csrf=sent, origin=origin)
    refused(answer, 403, words)
    assert browser.post("/v1/agents/tokens?dry_run=true", json={}, csrf=known["mine"]).status_code == 200
    form = {} if sent is None else {"csrf": sent}
    refused(browser.post("/sign-out", data=form, origin=origin), 403, words)
    assert browser.me()["user"] == "ada"


def test_other_sites_read_nothing(browser: Browser) -> None:
    browser.sign_in("ada")
    for site in ("cross-site", "same-site"):
        assert browser.get("/v1/me", sec_fetch_site=site).status_code == 403
    answer = browser.get("/v1/me", sec_fetch_site="same-origin", origin="https://evil.example.org")
    assert "access-control-allow-origin" not in answer.headers


def test_nobody_is_signed_in_by_another_site(server: RotaServer, browser: Browser, other: Browser) -> None:
    """Login CSRF, with an attacker's token."""
    theirs = field(other.get("/sign-in").text, "csrf")
    form = {"token": server.token, "csrf": theirs}
    refused(browser.post("/sign-in/token", data=form), 403, "began no sign-in")
    mine = field(browser.get("/sign-in").text, "csrf")
    refused(browser.post("/sign-in/token", data=form), 403, "CSRF token is of another session")
    form["csrf"] = mine
    for origin in ("https://evil.example.org", "null"):
        refused(browser.post("/sign-in/token", data=form, origin=origin), 403, "another site")
    refused(browser.post("/sign-in/token", data=form, origin=None), 403, "which page")
    by_json = browser.post("/sign-in/token", json={"token": server.token}, origin="https://evil.example.org")
    refused(by_json, 403, "another site")
    text = browser.post(
        "/sign-in/token", content='{"token": "x"}', headers={"content-type": "text/plain"}, origin=None
    )
    assert text.status_code == 415


def test_a_session_falls_with_its_membership(server: RotaServer, browser: Browser) -> None:
    server.client.set_project("speech", members={"cora": Role.VIEWER})
    browser.sign_in("cora", "staff")
    assert browser.me()["projects"] == ["speech"]
    server.client.set_project("speech", members={})
    assert browser.me()["projects"] == []


def test_an_ended_session_stays_ended(server: RotaServer, browser: Browser) -> None:
    browser.sign_in("dora")
    kept = browser.cookies
    browser.post("/sign-out", json={}, csrf=browser.me()["csrf"])
    browser.put_in(kept)
    assert browser.me() == 401
    browser.sign_in("dora")
    [session] = [one for one in server.client.tokens() if one.user == "dora"]
    server.client.remove_token(session.id)
    assert browser.me() == 401
    assert browser.get("/").headers["location"] == "/sign-in"


def test_sessions_end_by_age(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without use they end in tests/unit/server/test_browser.py, where time is virtual."""
    server = server_of(provider, tmp_path_factory.mktemp("ending"), pages='session = "2s"')
    try:
        with Browser(server) as browser:
            browser.sign_in("ada")
            browser.keep_for_ever()
            eventually(lambda: browser.me() == 401, "the greatest age")
            assert browser.get("/v1/me").json()["detail"] == "the session has expired"
    finally:
        server.remove()


def test_the_oldest_of_many_sessions_ends(server: RotaServer, browser: Browser, other: Browser) -> None:
    browser.sign_in("eve")
    for _ in range(19):
        other.sign_in("eve")
    assert browser.me()["user"] == "eve"
    other.sign_in("eve")
    assert browser.me() == 401
    assert other.me()["user"] == "eve"


# -- names


def test_other_names_are_refused(server: RotaServer, browser: Browser) -> None:
    port = server.url.rpartition(":")[2]
    for host in ("evil.example.org", f"evil.example.org:{port}", "127.0.0.1.evil.example.org", ""):
        for path in ("/", "/sign-in", "/openapi.json", "/v1/me"):
            assert browser.get(path, host=host).status_code == 421, (host, path)
    for host in (f"localhost:{port}", "rota.localhost", "10.0.0.7:99", "[::1]:80"):
        assert browser.get("/sign-in", host=host).status_code == 200, host
    token = f"Bearer {server.token}"
    assert browser.get("/v1/me", host="evil.example.org", authorization=token).status_code == 200
    assert browser.get("/healthz", host="probe").status_code == 200

    def recorded() -> bool:
        return any(one.status == 421 for one in server.client.audit(verdict=Verdict.REFUSED))

    eventually(recorded, "the record of the refusal")


def test_who_asks_by_another_name_is_sent_to_the_one_that_the_provider_knows(
    server: RotaServer, browser: Browser
) -> None:
    port = server.url.rpartition(":")[2]
    where = browser.get("/sign-in/provider?return=/v1/me", host=f"localhost:{port}").headers["location"]
    assert where.startswith(f"{server.url}/sign-in/provider?return=%2Fv1%2Fme")
    # Behind a proxy that hides the name, it isn't sent round and round.
    again = browser.get(where.removeprefix(server.url), host=f"localhost:{port}")
    assert "/authorize?" in again.headers["location"]
