"""Where somebody may go on to after signing in."""

from __future__ import annotations

import pytest

from rota.server.browser.return_path import local_path
from rota.server.http.problems import ProblemError


@pytest.mark.parametrize("path", ["/", "/v1/me", "/jobs?project=a&b=%2F%2Fevil#x", "/a//b", "/a:b"])
def test_paths_of_this_server(path: str) -> None:
    assert local_path(path) == path


def test_nothing_is_home() -> None:
    assert local_path("") == "/"


@pytest.mark.parametrize(
    "path",
    [
        "//evil",
        "/\\evil",
        "\\\\evil",
        "///evil",
        "https://evil",
        "https:evil",
        "evil",
        "?x",
        "#x",
        "/\t/evil",
        "/\r\nset-cookie: x",
        "/ x",
        "/a\\b",
        "/ä",
        "\x00/",
        "/" + "a" * 1000,
        "/a\n",
    ],
)
def test_all_else_is_refused(path: str) -> None:
    with pytest.raises(ProblemError, match="not a path"):
        local_path(path)
