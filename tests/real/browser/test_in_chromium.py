"""Sign-in in a real browser: it decides what cookies go where, and which pages may do what."""

from __future__ import annotations

import time
from functools import partial

import pytest

from rota.api.people import Role
from tests.real.browser.browser import server_of
from tests.real.browser.chromium import Chromium, Window
from tests.real.browser.elsewhere import Elsewhere
from tests.real.server.oidc_provider import Provider
from tests.real.server.rota_server import RotaServer

pytestmark = [pytest.mark.covers("trust-6", "ops-2"), pytest.mark.slow]


def sign_in(window: Window, user: str = "ada", groups: str = "staff", *, begin: str = "/") -> None:
    """By the provider, as somebody would."""
    window.open(begin)
    window.click("link", "Sign in with localhost")
    window.fill(user=user, groups=groups)
    window.click("button", "Approve")


def test_in_by_the_provider_and_out_again(window: Window, far_server: RotaServer) -> None:
    sign_in(window)
    # The provider is another site, and the cookie is strict: it is sent all the same, and the page is there.
    window.shows("Signed in as ada with the role submitter")
    window.is_at("/")
    [last] = [one for one in window.asked if one.url == f"{far_server.url}/" and one.status == 200]
    assert "rota-session=" in last.headers["cookie"]
    kept = window.cookies["rota-session"]
    window.click("button", "Sign out")
    window.is_at("/sign-in")
    assert "rota-session" not in window.cookies
    window.open("/")
    window.is_at("/sign-in")
    # Also for whoever has kept the cookie.
    window.put_in(kept)
    window.open("/")
    window.is_at("/sign-in")


def test_cookies_are_as_they_were_set(window: Window, far_server: RotaServer) -> None:
    window.open("/sign-in")
    flow = window.cookies["rota-sign-in"]
    assert (flow.same_site, flow.http_only, flow.secure, flow.path) == ("Lax", True, False, "/")
    assert flow.expires - time.time() == pytest.approx(600, abs=120)
    sign_in(window)
    window.shows("Signed in as")
    assert window.cookies.keys() == {"rota-session"}
    session = window.cookies["rota-session"]
    assert (session.same_site, session.http_only, session.secure) == ("Strict", True, False)
    assert (session.domain, session.path) == ("127.0.0.1", "/")
    assert session.expires - time.time() == pytest.approx(3600, abs=120)
    assert window.script("document.cookie") == ""


def test_with_tls_cookies_go_over_tls_alone(
    chromium: Chromium, far_provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = server_of(far_provider, tmp_path_factory.mktemp("tls"), "--tls-self-signed")
    try:
        with chromium.window(server.url) as window:
            sign_in(window)
            window.shows("Signed in as ada")
            [session] = window.cookies.values()
            assert session.name == "__Host-rota-session"
            assert (session.secure, session.http_only, session.same_site) == (True, True, "Strict")
            window.click("button", "Sign out")
            window.is_at("/sign-in")
            assert "__Host-rota-session" not in window.cookies
            assert window.complaints == []
    finally:
        server.remove()


def test_on_to_the_page_that_was_asked_for(window: Window) -> None:
    sign_in(window, begin="/sign-in?return=/v1/me%3Fx=1")
    window.is_at("/v1/me?x=1")


def test_in_with_a_token(window: Window, far_server: RotaServer) -> None:
    token = far_server.client.add_token("bob", Role.VIEWER, projects=["vision"])
    window.open("/sign-in")
    window.fill(token=token.secret or "")
    window.click("button", "Sign in with a token")
    window.shows("Signed in as bob with the role viewer, for vision")
    assert not any(token.secret in one.url for one in window.asked if token.secret)


def test_a_wrong_token_is_told_of(window: Window) -> None:
    window.open("/sign-in")
    window.fill(token="rota_wrong")
    window.click("button", "Sign in with a token")
    window.shows("Sign in")
    assert window.asked[-1].status == 401
    assert "rota-session" not in window.cookies


def test_whoever_the_provider_refuses_is_told(window: Window) -> None:
    sign_in(window, user="nobody")
    window.shows("the provider says: access_denied")


def test_pages_have_their_style_and_nothing_of_others(window: Window) -> None:
    """A style that the policy doesn't allow would be left out, with a complaint."""
    window.open("/sign-in")
    assert window.script("getComputedStyle(document.body).maxWidth") == "576px"
    assert {one.host for one in window.asked} == {window.url.removeprefix("http://")}


def test_after_signing_out_the_way_back_shows_nothing(window: Window) -> None:
    sign_in(window)
    window.shows("Signed in as ada")
    window.click("button", "Sign out")
    window.is_at("/sign-in")
    window.back()
    window.is_at("/sign-in")
    assert "Signed in as" not in window.text


# -- other sites


def posting(url: str, fields: str, more: str = "") -> str:
    """A page that sends a form as soon as it is there."""
    form = f'<form method="post" action="{url}" {more}>{fields}</form>'
    return f"{form}<script>document.forms[0].submit()</script>"


@pytest.mark.parametrize("same_site", [False, True])
def test_a_form_of_another_site_is_refused(window: Window, elsewhere: Elsewhere, same_site: bool) -> None:
    """Of another one the browser sends no cookie; of another port it does, and where the form comes from
    counts."""
    sign_in(window, groups="ops")
    window.shows("Signed in as ada with the role operator")
    for path, more in (("/sign-out", ""), ("/v1/agents/tokens", 'enctype="text/plain"')):
        page = elsewhere.page(
            posting(window.url + path, '<input name="csrf" value="x">', more), same_site=same_site
        )
        [asked] = window.during(partial(window.open, page), path, "POST")
        assert asked.status in (401, 403, 415)
        assert ("rota-session" in asked.headers.get("cookie", "")) is same_site
        assert asked.headers["origin"].startswith(
            "http://127.0.0.1" if same_site else "http://evil.localhost"
        )
    window.open("/")
    window.shows("Signed in as ada")


@pytest.mark.parametrize("same_site", [False, True])
def test_scripts_of_another_site_read_and_change_nothing(
    chromium: Chromium, far_server: RotaServer, elsewhere: Elsewhere, same_site: bool
) -> None:
    """The browser complains about each try, as it should."""
    with chromium.window(far_server.url) as window:
        sign_in(window, groups="ops")
        window.shows("Signed in as ada")
        window.open(elsewhere.page("here", same_site=same_site))
        for method, path in (("GET", "/v1/me"), ("POST", "/v1/agents/tokens"), ("DELETE", "/v1/tokens/x")):
            tried = window.script(
                f"""fetch("{far_server.url}{path}", {{method: "{method}", credentials: "include"}})
                    .then(answer => answer.text(), error => "refused")"""
            )
            assert tried == "refused", (method, path)
        # One that doesn't want to read the answer is let through by the browser, but not by the server.
        blind = f'fetch("{far_server.url}/v1/me", {{mode: "no-cors", credentials: "include"}})'
        [asked] = window.during(lambda: window.script(f"{blind}.then(answer => answer.type)"), "/v1/me")
        assert asked.status == (403 if same_site else 401)
        # Nor in a frame.
        window.script(f"""document.body.innerHTML = '<iframe src="{far_server.url}/"></iframe>'""")
        window.page.wait_for_load_state("networkidle")
        assert all("Signed in" not in frame.content() for frame in window.page.frames)


def test_a_link_from_elsewhere_leads_to_ones_own_page(window: Window, elsewhere: Elsewhere) -> None:
    """The browser keeps the cookie to itself at first; from a page of ours it sends it."""
    sign_in(window)
    window.shows("Signed in as ada")
    window.open(elsewhere.page(f'<a href="{window.url}/">Have a look</a>'))
    window.click("link", "Have a look")
    window.shows("Signed in as ada")
    window.is_at("/")


def test_nobody_is_signed_in_by_another_site(
    window: Window, elsewhere: Elsewhere, far_server: RotaServer
) -> None:
    """With an attacker's token, to watch what they do."""
    fields = f'<input name="token" value="{far_server.token}"><input name="csrf" value="x">'
    window.open("/sign-in")
    for same_site in (False, True):
        page = elsewhere.page(posting(f"{window.url}/sign-in/token", fields), same_site=same_site)
        [asked] = window.during(partial(window.open, page), "/sign-in/token")
        assert asked.status == 403
        assert "rota-session" not in window.cookies


def test_a_page_says_what_came_from_elsewhere_as_text(window: Window) -> None:
    window.open("/sign-in")
    window.page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for target in ("/sign-in?return=<script>alert(1)</script>", "/sign-in?<img/src/onerror=alert(1)>=1"):
        assert window.open(target) == 422
        assert window.page.locator("body script, body img").count() == 0
