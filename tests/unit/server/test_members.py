"""What a token may do where: by its own projects, or by what its user is in each, and never more than those
that it descends from."""

from __future__ import annotations

import pytest

from rota.api.people import Role
from rota.server.identity.access import covers, who_is
from rota.store.writing.batch import Project, Token

VISION = Project("vision", "", 0, (("ada", Role.SUBMITTER), ("bob", Role.VIEWER)))
AUDIO = Project("audio", "", 0, (("ada", Role.VIEWER),))
BOTH = (VISION, AUDIO)
ROOT = Token("root", "hash", "root", Role.ADMIN, None, 0)


def token(user: str, role: Role, projects: tuple[str, ...] | None = None) -> Token:
    return Token("1", "hash", user, role, projects, 0)


@pytest.mark.covers("ops-2")
def test_members_have_their_role_in_each_project() -> None:
    ada = [token("ada", Role.PROJECT_ADMIN), ROOT]
    assert who_is(ada, BOTH, Role.VIEWER).projects == ("audio", "vision")
    assert who_is(ada, BOTH, Role.SUBMITTER).projects == ("vision",)
    assert who_is(ada, BOTH, Role.PROJECT_ADMIN).projects == ()


def test_who_is_in_no_project_sees_none() -> None:
    assert who_is([token("eve", Role.SUBMITTER)], BOTH, Role.VIEWER).projects == ()


def test_a_token_may_name_its_projects_itself() -> None:
    assert who_is([token("eve", Role.VIEWER, ("audio",))], BOTH, Role.VIEWER).projects == ("audio",)


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN])
def test_operators_see_all(role: Role) -> None:
    assert who_is([token("eve", role, ("audio",))], BOTH, Role.VIEWER).projects is None


@pytest.mark.covers("trust-3")
class TestDescent:
    def test_a_token_that_names_projects_has_those_that_its_parent_still_has(self) -> None:
        line = [token("ada", Role.SUBMITTER, ("audio", "vision")), token("ada", Role.PROJECT_ADMIN)]
        assert who_is(line, BOTH, Role.VIEWER).projects == ("audio", "vision")
        assert who_is(line, BOTH, Role.SUBMITTER).projects == ("vision",)
        assert who_is(line, (AUDIO,), Role.SUBMITTER).projects == ()

    def test_the_least_role_of_all_counts(self) -> None:
        line = [token("ada", Role.ADMIN), token("ada", Role.VIEWER), ROOT]
        assert who_is(line, BOTH, Role.VIEWER).role is Role.VIEWER

    def test_what_an_admin_gives_needs_no_membership(self) -> None:
        line = [token("eve", Role.SUBMITTER, ("audio",)), ROOT]
        assert who_is(line, BOTH, Role.SUBMITTER).projects == ("audio",)


@pytest.mark.covers("trust-3")
@pytest.mark.parametrize(
    ("mine", "other", "is_covered"),
    [
        (token("ada", Role.VIEWER), token("ada", Role.VIEWER), True),
        (token("ada", Role.VIEWER), token("ada", Role.ADMIN), False),
        (token("ada", Role.OPERATOR), token("ada", Role.SUBMITTER, ("secret",)), True),
        (token("ada", Role.OPERATOR), token("ada", Role.ADMIN), False),
        (token("ada", Role.SUBMITTER), token("ada", Role.SUBMITTER, ("vision",)), True),
        (token("ada", Role.SUBMITTER), token("ada", Role.SUBMITTER, ("audio",)), False),
        (token("ada", Role.SUBMITTER), token("ada", Role.VIEWER, ("audio",)), True),
        # Memberships may grow.
        (token("ada", Role.SUBMITTER, ("audio", "vision")), token("ada", Role.VIEWER), False),
        (token("ada", Role.SUBMITTER, ("audio", "vision")), token("ada", Role.VIEWER, ("audio",)), True),
        (token("ada", Role.SUBMITTER, ("audio",)), token("ada", Role.VIEWER, ("vision",)), False),
    ],
)
def test_which_tokens_may_do_no_more(mine: Token, other: Token, is_covered: bool) -> None:
    assert covers([mine, ROOT], other, BOTH) is is_covered
