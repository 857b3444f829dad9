"""`rota project` and `rota token`: who may do what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import typer

from rota.api.people import ProjectDocument, Role, TokenDocument
from rota.cli.client.connection import connect
from rota.cli.option_values import read_as
from rota.cli.output import ListFormat, OutputFormat, talk, talk_of_change
from rota.cli.pairs import pairs_of
from rota.cli.showing import clock, show_list, show_one
from rota.cli.tables import Shown, new_table
from rota.model.quantities import parse_duration_ms
from rota.views.amounts import count_text
from rota.views.folding import fold_names
from rota.views.quoting import one_line
from rota.views.times import ms_of


def projects(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.projects())
    show_list(found, output, lambda one: one.name, _project_tables)
    if not found and output in (ListFormat.TABLE, ListFormat.WIDE):
        talk("there are no projects that you can see")


def set_project(
    name: str, description: str | None, members: Sequence[str], without: Sequence[str], *, dry_run: bool
) -> None:
    """Members that the user doesn't name stay. So does the description, unless the user gives one."""
    given = {user: _role("--member", role) for user, role in pairs_of("--member", members).items()}
    with connect() as server:
        there = next((one for one in server.projects() if one.name == name), None)
        known = {} if there is None else there.members
        for user in without:
            if user not in known:
                raise typer.BadParameter(f"{user} isn't a member of {name}", param_hint="--without")
        kept = {user: role for user, role in known.items() if user not in without}
        if description is None and there is not None:
            description = there.description
        after = server.set_project(
            name,
            description=description,
            members={**kept, **given},
            version=None if there is None else there.version or None,
            dry_run=dry_run,
        )
    members_text = f"the members {_members_text(after)}" if after.members else "no members"
    talk_of_change(f"project {after.name}", f"has {members_text}", f"have {members_text}", dry_run=dry_run)


def remove_project(name: str, *, dry_run: bool) -> None:
    with connect() as server:
        server.remove_project(name, dry_run=dry_run)
    talk_of_change(f"project {name}", "is removed", "be removed", dry_run=dry_run)


def tokens(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.tokens())
    show_list(found, output, lambda one: one.id, _token_tables)


def add_token(
    user: str,
    role: str,
    projects: Sequence[str],
    expires_in: str | None,
    output: OutputFormat,
    *,
    dry_run: bool,
) -> None:
    if expires_in is not None:
        read_as("--expires", parse_duration_ms, expires_in)
    with connect() as server:
        made = server.add_token(
            user,
            _role("--role", role),
            projects=list(projects) or None,
            expires_in=expires_in,
            dry_run=dry_run,
        )
    if output.is_table and made.secret is not None:
        talk(f"this is token {made.id} for {made.user}; store it safely, it isn't shown again")
    show_one(made, output, lambda one: [one.secret] if one.secret else _token_tables([one]))


def remove_token(id: str, *, dry_run: bool) -> None:
    with connect() as server:
        removed = server.remove_token(id, dry_run=dry_run)
    others = len(removed.changed) - 1
    along = f", together with {count_text(others, 'token')} made with it" if others > 0 else ""
    talk_of_change(f"token {id}", f"is revoked{along}", f"be revoked{along}", dry_run=dry_run)


def _role(option: str, text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        known = ", ".join(role.value for role in Role)
        raise typer.BadParameter(f'"{text}" is not a role; give one of {known}', param_hint=option) from None


def _project_tables(some: Sequence[ProjectDocument]) -> Iterable[Shown]:
    if some:
        table = new_table("project", "description", "members")
        for one in some:
            table.add_row(one.name, one_line(one.description), _members_text(one))
        yield table


def _members_text(project: ProjectDocument) -> str:
    return ", ".join(f"{user} ({role.value})" for user, role in sorted(project.members.items()))


def _token_tables(some: Sequence[TokenDocument]) -> Iterable[Shown]:
    now = clock()
    table = new_table(
        "token",
        "user",
        "role",
        "projects",
        "created",
        "made with",
        "expires",
        "last used",
        dropped=("created", "made with", "last used"),
    )
    for one in some:
        table.add_row(
            one.id,
            one.user,
            one.role.value,
            "all" if one.projects is None else fold_names(one.projects),
            now.text(ms_of(one.created)),
            one.parent or "",
            "never" if one.expires is None else now.distance_text(ms_of(one.expires)),
            "never" if one.last_used is None else now.distance_text(ms_of(one.last_used)),
        )
    yield table
