"""What a token may do where: by its own projects, or by what its user is in each."""

from __future__ import annotations

import pytest

from rota.api.documents import Role
from rota.server.access import who_is
from rota.store.batch import Project, Token

VISION = Project("vision", "", 0, (("ada", Role.SUBMITTER), ("bob", Role.VIEWER)))
AUDIO = Project("audio", "", 0, (("ada", Role.VIEWER),))


def token(user: str, role: Role, projects: tuple[str, ...] | None = None) -> Token:
    return Token("1", "hash", user, role, projects, 0)


@pytest.mark.covers("ops-2")
def test_members_have_their_role_in_each_project() -> None:
    ada = token("ada", Role.PROJECT_ADMIN)
    assert who_is(ada, (VISION, AUDIO), Role.VIEWER).projects == ("audio", "vision")
    assert who_is(ada, (VISION, AUDIO), Role.SUBMITTER).projects == ("vision",)
    assert who_is(ada, (VISION, AUDIO), Role.PROJECT_ADMIN).projects == ()


def test_who_is_in_no_project_sees_none() -> None:
    assert who_is(token("eve", Role.SUBMITTER), (VISION, AUDIO), Role.VIEWER).projects == ()


def test_a_token_may_name_its_projects_itself() -> None:
    assert who_is(token("eve", Role.VIEWER, ("audio",)), (VISION, AUDIO), Role.VIEWER).projects == ("audio",)


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN])
def test_operators_see_all(role: Role) -> None:
    assert who_is(token("eve", role, ("audio",)), (VISION, AUDIO), Role.VIEWER).projects is None
