"""Commands on several jobs do what they can, and say what they couldn't."""

from __future__ import annotations

import pytest

from rota.sdk.errors import Conflict, Forbidden, NotFound, Unreachable
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import an_estimate
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("first-3")


@pytest.mark.parametrize("verb", ["cancel", "hold", "release"])
def test_the_others_are_done_and_the_status_says_that_not_all_were(server: FakeServer, verb: str) -> None:
    server.refusals = {"3": Conflict("job 3 is over"), "9999": NotFound("there is no job 9999")}
    result = rota(verb, "3", "302", "9999", "303")
    assert [one.name for one in server.asked] == ["302", "303"]
    assert result.code == 1
    assert result.err.splitlines()[-2:] == ["rota: job 3 is over", "rota: there is no job 9999"]


@pytest.mark.parametrize(
    ("error", "code"), [(Conflict("over"), 2), (NotFound("none"), 3), (Forbidden("not yours"), 4)]
)
def test_where_all_failures_are_alike_the_status_is_theirs(
    server: FakeServer, error: Exception, code: int
) -> None:
    server.refusals = {"3": error, "4": error}
    assert rota("cancel", "3", "4", "5").code == code


def test_a_server_that_is_not_there_is_not_asked_again(server: FakeServer) -> None:
    server.refusal = Unreachable("no server answers")
    result = rota("cancel", "3", "4", "5")
    assert (result.code, result.err) == (5, "rota: no server answers\n")


def test_questions_about_several_are_answered_as_far_as_they_can_be(server: FakeServer) -> None:
    server.estimates["17"] = an_estimate("17")
    server.has()
    result = rota("eta", "nobody", "17")
    assert result.code == 3
    assert result.lines[1].startswith("17")
    assert 'there is no job named "nobody"' in result.err
