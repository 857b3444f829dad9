"""Cookies: which name, which flags, and which of those that are sent is ours."""

from __future__ import annotations

import pytest

from rota.server.browser.cookies import CookieNames, cookie_of


def test_with_tls_a_cookie_belongs_to_one_host() -> None:
    name, value = CookieNames(is_secure=True).set_session("x", 60)
    assert name == "set-cookie"
    assert value == "__Host-rota-session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"


def test_without_tls_it_is_only_for_this_machine() -> None:
    plain = CookieNames(is_secure=False)
    assert plain.set_session("x", 60)[1] == "rota-session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Strict"
    assert plain.set_flow("x", 60)[1] == "rota-sign-in=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"
    assert plain.end_session()[1].startswith("rota-session=; Path=/; Max-Age=0;")
    assert plain.end_flow()[1].startswith("rota-sign-in=; Path=/; Max-Age=0;")


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", None),
        ("a=1", "1"),
        ("b=2; a=1", "1"),
        ("b=2;a=1;c", "1"),
        ("a=1; a=2", None),
        ("a=", None),
        ("a", None),
        ("xa=1", None),
        ("a =1", None),
        ("a=x=y", "x=y"),
        ("a=1; " + "b=2; " * 10_000, None),
    ],
)
def test_the_one_cookie_of_a_name(header: str, found: str | None) -> None:
    assert cookie_of(header, "a") == found
