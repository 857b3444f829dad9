"""What other sites make a browser send is refused."""

from __future__ import annotations

import pytest

from rota.server.browser.forgery import check_csrf, check_origin, check_read, csrf_of, is_from_elsewhere
from rota.server.http.problems import ProblemError

URL = "https://rota.example.org"


def test_a_csrf_token_is_of_one_session_and_is_not_its_secret() -> None:
    check_csrf("mine", csrf_of("mine"))
    assert csrf_of("mine") != csrf_of("other")
    assert "mine" not in csrf_of("mine")
    for shown in (None, "", "mine", csrf_of("other"), csrf_of("mine")[:-1], "ä"):
        with pytest.raises(ProblemError, match="CSRF"):
            check_csrf("mine", shown)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": URL},
        {"origin": "https://ROTA.example.org"},
        {"origin": "https://rota-2.example.org:8426", "host": "rota-2.example.org:8426"},
        {"origin": "https://rota-3", "host": "rota-1", "sec-rota-host": "rota-3"},
    ],
)
def test_pages_of_this_server(headers: dict[str, str]) -> None:
    check_origin(headers, URL)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://rota.example.org"},
        {"origin": "https://rota.example.org:444"},
        {"origin": "https://evil.org", "host": "rota.example.org"},
        {"origin": "https://rota.example.org.evil.org"},
        {"origin": "https://x", "host": "y", "sec-rota-host": ""},
        {"referer": URL},
    ],
)
def test_pages_of_others(headers: dict[str, str]) -> None:
    with pytest.raises(ProblemError) as caught:
        check_origin(headers, URL)
    assert (caught.value.status, caught.value.kind) == (403, "cross-site")


def test_a_program_says_no_origin() -> None:
    check_origin({}, URL, is_needed=False)
    with pytest.raises(ProblemError):
        check_origin({"origin": "null"}, URL, is_needed=False)


def test_reads() -> None:
    for site in ("same-origin", "none"):
        check_read({"sec-fetch-site": site})
        assert not is_from_elsewhere({"sec-fetch-site": site})
    check_read({})
    for site in ("cross-site", "same-site", "other"):
        with pytest.raises(ProblemError, match="another site"):
            check_read({"sec-fetch-site": site})
    assert is_from_elsewhere({"sec-fetch-site": "cross-site"})
