"""What groups of a provider may do here."""

from __future__ import annotations

from typing import Any

import pytest

from rota.api.people import Role
from rota.server.sign_in.groups import Grants, GroupRules
from rota.server.sign_in.id_token import BadIdToken, Claims

RULES = GroupRules(
    "preferred_username",
    "groups",
    roles=(("ops", Role.OPERATOR), ("staff", Role.SUBMITTER)),
    projects=(("ml", "vision", Role.SUBMITTER), ("ml-leads", "vision", Role.PROJECT_ADMIN)),
)


def grants(rules: GroupRules = RULES, **claims: Any) -> Grants:
    return rules.grants(Claims("i", "s", 0, {"preferred_username": "ada", **claims}))


def test_the_best_role_of_all_groups_counts() -> None:
    assert grants(groups=["staff", "ops", "other"]).role is Role.OPERATOR
    assert grants(groups=["staff"]) == Grants("ada", Role.SUBMITTER, ())


def test_a_group_can_be_for_one_project() -> None:
    lead = grants(groups=["ml", "ml-leads"])
    assert lead == Grants("ada", Role.PROJECT_ADMIN, (("vision", Role.PROJECT_ADMIN),))
    assert grants(groups=["ml"]).projects == (("vision", Role.SUBMITTER),)


def test_who_is_in_no_group_gets_what_the_settings_say() -> None:
    open_to_all = GroupRules("preferred_username", "groups", default_role=Role.VIEWER)
    assert grants(open_to_all).role is Role.VIEWER
    for groups in ([], None, ["other"], {"ops": True}, [["ops"]], 7):
        with pytest.raises(BadIdToken):
            grants(groups=groups)


def test_one_group_may_be_a_text() -> None:
    assert grants(groups="ops").role is Role.OPERATOR


@pytest.mark.parametrize(
    "name", [None, "", "rota", "a b", "a\x00b", "x" * 300, 7, ["ada"], "..", "ada/bob", "a\u2028b"]
)
def test_names_that_nobody_can_have(name: Any) -> None:
    with pytest.raises(BadIdToken):
        grants(groups=["ops"], preferred_username=name)


def test_an_address_must_be_verified() -> None:
    by_mail = GroupRules("email", "groups", default_role=Role.VIEWER)
    assert grants(by_mail, email="ada@example.org", email_verified=True).user == "ada@example.org"
    for claims in ({}, {"email_verified": False}, {"email_verified": "true"}):
        with pytest.raises(BadIdToken, match="verified"):
            grants(by_mail, email="ada@example.org", **claims)
