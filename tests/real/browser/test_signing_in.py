"""Sign-in by a browser: a real provider and server, and a client with cookies."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from rota.api.audit import Verdict
from rota.api.people import Role
from tests.real.browser.browser import Browser, field, server_of
from tests.real.server.oidc_provider import Provider
from tests.real.server.rota_server import RotaServer

pytestmark = pytest.mark.covers("trust-6", "ops-2")


# -- as it should be


def test_in_and_out_again(server: RotaServer, provider: Provider, browser: Browser) -> None:
    asked = browser.to_provider("/v1/me?x=1")
    query = {name: values[0] for name, values in parse_qs(urlsplit(asked).query).items()}
    assert asked.startswith(f"{provider.issuer}/authorize?")
    assert query["redirect_uri"] == f"{server.url}/sign-in/callback"
    assert (query["code_challenge_method"], query["response_type"]) == ("S256", "code")
    assert len({query["state"], query["nonce"], query["code_challenge"]}) == 3
    came = browser.get(browser.approved(asked, "ada", "ml staff"))
    assert came.status_code == 200
    # A page of our own goes on: after a redirect, a browser would keep a strict cookie to itself.
    assert 'http-equiv="refresh" content="0;url=/v1/me?x=1"' in came.text
    assert "rota-sign-in" not in browser.cookies
    me = browser.me()
    assert (me["user"], me["role"], me["projects"]) == ("ada", "submitter", ["vision"])
    home = browser.get("/").text
    assert "<strong>ada</strong>" in home
    [session] = [one for one in server.client.tokens() if one.user == "ada"]
    assert session.origin == provider.issuer
    assert session.expires is not None
    assert 3500 < (session.expires - session.created).total_seconds() <= 3600
    ended = browser.post("/sign-out", data={"csrf": field(home, "csrf")})
    assert (ended.status_code, ended.headers["location"]) == (303, "/sign-in")
    assert "rota-session" not in browser.cookies
    assert browser.me() == 401
    made, removed = reversed(list(server.client.audit(user="ada")))
    assert (made.route, made.verdict, made.subject) == ("/sign-in/callback", Verdict.DONE, session.id)
    assert (removed.route, removed.token) == ("/sign-out", session.id)


def test_cookies_have_their_flags(browser: Browser) -> None:
    begun = browser.get("/sign-in/provider")
    assert begun.headers["set-cookie"].startswith("rota-sign-in=")
    assert begun.headers["set-cookie"].endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax")
    came = browser.get(browser.approved(begun.headers["location"], "ada"))
    session, flow = came.headers.get_list("set-cookie")
    assert re.fullmatch(
        r"rota-session=rota_[\w-]{43}; Path=/; Max-Age=3[56]\d\d; HttpOnly; SameSite=Strict", session
    )
    assert flow == "rota-sign-in=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"


def test_with_tls_cookies_belong_to_this_host_alone(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = server_of(provider, tmp_path_factory.mktemp("tls"), "--tls-self-signed")
    try:
        with Browser(server) as browser:
            came = browser.sign_in("ada")
            session, _ = came.headers.get_list("set-cookie")
            assert session.startswith("__Host-rota-session=")
            assert session.endswith("; HttpOnly; SameSite=Strict; Secure")
            me = browser.me()
            assert me["user"] == "ada"
            assert browser.post("/v1/plan", json={"jobs": []}, csrf=me["csrf"]).status_code != 403
            assert browser.post("/v1/plan", json={"jobs": []}).status_code == 403
    finally:
        server.remove()


@pytest.mark.parametrize("path", ["/", "/sign-in", "/sign-in/callback", "/sign-in?return=//evil"])
def test_pages_allow_no_scripts_and_no_frames(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in policy
    assert "script" not in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["content-type"].startswith("text/html")
    assert headers["cache-control"] == "no-store"


def test_in_with_a_token(server: RotaServer, browser: Browser) -> None:
    token = server.client.add_token("bob", Role.VIEWER, projects=["vision"])
    page = browser.get("/sign-in?return=/v1/me").text
    form = {"token": token.secret, "csrf": field(page, "csrf"), "return": field(page, "return")}
    came = browser.post("/sign-in/token", data=form)
    assert (came.status_code, came.headers["location"]) == (303, "/v1/me")
    me = browser.me()
    assert (me["user"], me["role"], me["projects"]) == ("bob", "viewer", ["vision"])
    # No more rights, and no longer: the session ends with the token.
    assert browser.post("/v1/jobs", json={"jobs": []}, csrf=me["csrf"]).status_code == 403
    server.client.remove_token(token.id)
    assert browser.me() == 401


def test_in_with_a_token_by_json(server: RotaServer, browser: Browser) -> None:
    answer = browser.post("/sign-in/token", json={"token": server.token}, origin=None)
    assert answer.status_code == 200
    assert answer.json()["csrf"] == browser.me()["csrf"]


def test_a_page_for_whoever_follows_a_link_from_elsewhere(browser: Browser) -> None:
    """The browser sends no strict cookie along; from our own page it does."""
    assert browser.get("/").headers["location"] == "/sign-in"
    assert 'content="0;url=/"' in browser.get("/", sec_fetch_site="cross-site").text


def test_programs_are_told_what_this_is(server: RotaServer) -> None:
    answer = httpx.get(server.url)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "/openapi.json" in answer.text


def test_only_the_provider_where_tokens_are_not_taken(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = server_of(provider, tmp_path_factory.mktemp("only"), pages="token_sign_in = false")
    try:
        with Browser(server) as browser:
            assert browser.get("/sign-in").headers["location"].startswith(provider.issuer)
            assert browser.post("/sign-in/token", json={"token": server.token}).status_code == 404
    finally:
        server.remove()
