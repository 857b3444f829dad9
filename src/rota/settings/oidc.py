"""What `oidc` says of groups, read."""

from __future__ import annotations

ROLES = ("viewer", "submitter", "project-admin", "operator", "admin")
ROLES_IN_PROJECTS = ROLES[:3]
ALGORITHMS = ("RS256", "ES256")


def group_role(text: str) -> tuple[str, str]:
    """GROUP=ROLE; names of groups may have any characters, those of roles don't. Raises ValueError."""
    group, _, role = text.rpartition("=")
    if not group or role not in ROLES:
        raise ValueError(f"'{text}' is not GROUP=ROLE; roles are {', '.join(ROLES)}")
    return group, role


def group_project_role(text: str) -> tuple[str, str, str]:
    """GROUP=PROJECT:ROLE. Raises ValueError."""
    group, _, granted = text.rpartition("=")
    project, _, role = granted.rpartition(":")
    if not group or not project or role not in ROLES_IN_PROJECTS:
        raise ValueError(f"'{text}' is not GROUP=PROJECT:ROLE; roles are {', '.join(ROLES_IN_PROJECTS)}")
    return group, project, role
