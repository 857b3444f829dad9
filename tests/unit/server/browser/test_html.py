"""Pages: what comes from elsewhere is text in them, and nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

import pytest

from rota.api.people import Role
from rota.control.access import Who
from rota.server.browser.html import (
    HTML_HEADERS,
    home_page,
    onward_page,
    problem_page,
    redirect,
    sign_in_page,
    wants_html,
)
from rota.server.http.problems import bad_input
from rota.server.http.reply import Reply

EVIL = "\"'><script>alert(1)</script>&amp;"
PAGES = [
    home_page(Who(EVIL, Role.VIEWER, (EVIL,)), EVIL),
    sign_in_page("/" + EVIL, EVIL, EVIL),
    onward_page("/" + EVIL),
    problem_page(bad_input("return", EVIL, EVIL)),
]


@pytest.mark.parametrize("shown", PAGES)
def test_no_markup_comes_in(shown: Reply) -> None:
    text = shown.body.decode()
    assert "<script" not in text
    assert EVIL not in text
    assert "&lt;script" in text or "%3Cscript" in text


@pytest.mark.parametrize("shown", [*PAGES, redirect("/")])
def test_every_page_has_the_headers(shown: Reply) -> None:
    assert set(HTML_HEADERS) <= set(shown.headers)


def test_the_policy_allows_the_one_style_that_there_is() -> None:
    text = PAGES[0].body.decode()
    style = text.partition("<style>")[2].partition("</style>")[0]
    policy = dict(HTML_HEADERS)["content-security-policy"]
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert " style=" not in text


def test_who_is_signed_in() -> None:
    assert "for all projects" in home_page(Who("ada", Role.ADMIN), "c").body.decode()
    assert "for no project" in home_page(Who("ada", Role.VIEWER, ()), "c").body.decode()


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", True),
        ("application/json, TEXT/HTML;q=0.1", True),
        ("*/*", False),
        ("application/json", False),
        ("", False),
        (None, False),
    ],
)
def test_browsers_name_html(accept: str | None, wanted: bool) -> None:
    assert wants_html(accept) is wanted
