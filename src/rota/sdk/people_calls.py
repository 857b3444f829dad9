"""Calls about people and what they may do: projects, their secrets, tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from rota.api.documents import ChangeDocument, Page
from rota.api.people import (
    ProjectDocument,
    Role,
    SecretDocument,
    TenantDocument,
    TokenDocument,
    UsageDocument,
)
from rota.sdk.call import Call, delete, get, if_match, listed, segment, send, sent, stated


class PeopleCalls:
    """What admins ask, and users of what is their own."""

    @listed
    def projects(self, *, limit: int | None = None, after: str | None = None) -> Call[Page[ProjectDocument]]:
        return get("/projects", Page[ProjectDocument], limit=limit, after=after)

    @sent
    def set_project(
        self,
        name: str,
        *,
        description: str | None = None,
        members: Mapping[str, Role] | None = None,
        version: str | None = None,
        dry_run: bool = False,
    ) -> Call[ProjectDocument]:
        """Add a project, or replace it as a whole: fields that aren't given are empty. With the `version`
        that was read, it raises Conflict if the project was changed meanwhile."""
        body = stated(description=description, members=members)
        call = send("PUT", f"/projects/{segment('name', name)}", body, ProjectDocument, dry_run=dry_run)
        return if_match(call, version)

    @sent
    def remove_project(self, name: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        return delete(f"/projects/{segment('name', name)}", ChangeDocument, dry_run=dry_run)

    @listed
    def secrets(
        self, project: str, *, limit: int | None = None, after: str | None = None
    ) -> Call[Page[SecretDocument]]:
        """Their names: nobody is shown a value."""
        path = f"/projects/{segment('project', project)}/secrets"
        return get(path, Page[SecretDocument], limit=limit, after=after)

    @sent
    def set_secret(
        self, project: str, name: str, value: str, *, dry_run: bool = False
    ) -> Call[ChangeDocument]:
        """Jobs of the project get it by name; nobody is shown it again."""
        path = f"/projects/{segment('project', project)}/secrets/{segment('name', name)}"
        return send("PUT", path, {"value": value}, ChangeDocument, dry_run=dry_run)

    @sent
    def remove_secret(self, project: str, name: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        path = f"/projects/{segment('project', project)}/secrets/{segment('name', name)}"
        return delete(path, ChangeDocument, dry_run=dry_run)

    @listed
    def tokens(self, *, limit: int | None = None, after: str | None = None) -> Call[Page[TokenDocument]]:
        """One's own; for admins, all."""
        return get("/tokens", Page[TokenDocument], limit=limit, after=after)

    @sent
    def add_token(
        self,
        user: str,
        role: Role,
        *,
        projects: Sequence[str] | None = None,
        expires_in: str | None = None,
        dry_run: bool = False,
    ) -> Call[TokenDocument]:
        """The answer holds the secret, which is never shown again."""
        body = stated(user=user, role=role, projects=projects, expires_in=expires_in)
        return send("POST", "/tokens", body, TokenDocument, dry_run=dry_run)

    @sent
    def remove_token(self, id: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        return delete(f"/tokens/{segment('id', id)}", ChangeDocument, dry_run=dry_run)

    @sent
    def usage(self, *, since: datetime | None = None, by: str | None = None) -> Call[UsageDocument]:
        """What your projects have used since then, or in a week. `by`: "project", "user" or "queue"."""
        return get("/usage", UsageDocument, since=since, by=by)

    @listed
    def quotas(self, *, limit: int | None = None, after: str | None = None) -> Call[Page[TenantDocument]]:
        """Quotas and shares of your projects and their users."""
        return get("/quotas", Page[TenantDocument], limit=limit, after=after)
