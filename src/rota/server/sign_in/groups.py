"""Whom an ID token stands for, and what the groups that it names may do here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rota.api.people import Role
from rota.control.access import SYSTEM
from rota.server.http.reading import MAX_NAME, NAME_PATTERN
from rota.server.identity.access import at_least
from rota.server.sign_in.id_token import BadIdToken, Claims

_NAME = re.compile(NAME_PATTERN)
_MOST_GROUPS = 10_000


class Grants(Struct, frozen=True):
    """What a user may do until the next sign-in."""

    user: str
    role: Role
    projects: tuple[tuple[str, Role], ...] = ()
    """Besides those that they are a member of."""


class GroupRules(Struct, frozen=True):
    user_claim: str
    groups_claim: str
    roles: tuple[tuple[str, Role], ...] = ()
    """By group, in all of Rota."""
    projects: tuple[tuple[str, str, Role], ...] = ()
    """By group, in one project."""
    default_role: Role | None = None
    """For users in none of these groups; None: they can't sign in."""

    def grants(self, claims: Claims) -> Grants:
        """Raises BadIdToken if they may not sign in."""
        user = self._user(claims.all)
        groups = self._groups(claims.all)
        granted = [role for group, role in self.roles if group in groups]
        projects: dict[str, Role] = {}
        for group, project, role in self.projects:
            if group in groups and at_least(role, projects.get(project, role)):
                projects[project] = role
        # A token's role is the most that it may be anywhere.
        most = [*granted, *projects.values()] or ([self.default_role] if self.default_role else [])
        if not most:
            raise BadIdToken("none of your groups may use this server")
        role = max(most, key=list(Role).index)
        return Grants(user, role, tuple(sorted(projects.items())))

    def _user(self, claims: Mapping[str, Any]) -> str:
        name = claims.get(self.user_claim)
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME or "/" in name:
            raise BadIdToken(f"the ID token's {self.user_claim} is not a name of a user")
        if self.user_claim == "email" and claims.get("email_verified") is not True:
            raise BadIdToken("the provider hasn't verified your e-mail address")
        if name == SYSTEM:
            raise BadIdToken(f"no user can sign in as {SYSTEM}")
        return name

    def _groups(self, claims: Mapping[str, Any]) -> frozenset[str]:
        groups = claims.get(self.groups_claim, ())
        found = [groups] if isinstance(groups, str) else groups
        if not isinstance(found, (list, tuple)) or len(found) > _MOST_GROUPS:
            raise BadIdToken(f"the ID token's {self.groups_claim} is not a list of groups")
        return frozenset(group for group in found if isinstance(group, str))
