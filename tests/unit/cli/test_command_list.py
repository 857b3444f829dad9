"""Options by their other number."""

from __future__ import annotations

import pytest

from tests.unit.cli.calling import rota
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("first-6")


def test_the_singular_and_the_plural_are_understood(server: FakeServer) -> None:
    rota("submit", "--cpu", "2", "--gpu=1", "--labels", "a=b", "--retry", "3", "--", "true", "--cpu")
    [job] = server.submitted
    assert job["resources"] == {"cpu": "2"}
    assert (job["gpus"], job["labels"], job["retry"]) == ("1", {"a": "b"}, 3)
    assert job["command"] == ["true", "--cpu"]


def test_one_of_them_is_enough(server: FakeServer) -> None:
    result = rota("submit", "--cpu", "2", "--cpus", "3", "--", "true")
    assert result.code == 1
    assert "--cpu and --cpus are the same option" in result.err


def test_what_is_unknown_stays_unknown(server: FakeServer) -> None:
    result = rota("submit", "--colour", "red", "--", "true")
    assert result.code == 1
    assert "--colour" in result.err
