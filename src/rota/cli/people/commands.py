"""Commands about people and what they may do: their arguments and options."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.option_structs import expand_options
from rota.cli.options import DryRun, ListOutput, Output
from rota.cli.output import ListFormat, OutputFormat
from rota.cli.people.options import AuditFilter, UsageKind

app = new_app()

ROLES = "viewer, submitter, project-admin, operator or admin"


@app.command()
def limits(
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show the limits of this user. [default: you]")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Show the limits in this project. [default: your default project]"),
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show your limits and how much of them you use. Operators may ask for other users."""
    from rota.cli.people import limits as work

    work.limits(user, project, output)


@app.command()
def usage(
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Count from then on: 2026-05-01, yesterday, or 7d for seven days ago."
        ),
    ] = "7d",
    by: Annotated[UsageKind, typer.Option(help="What to add up.")] = UsageKind.PROJECT,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show the hours of cores, GPUs and memory that jobs used, in your projects.

    A task counts with what it asked for, for as long as it ran. Jobs that were removed from the history
    aren't counted (server.history in the settings).
    """
    from rota.cli.people import usage as work

    work.usage(since, by, output)


@app.command()
def quota(output: ListOutput = ListFormat.TABLE) -> None:
    """Show quotas and shares of your projects, and what they hold now. Admins see all projects.

    SHARE is what a project has had lately of the cluster, DUE what its weight gives it. `rota limits` shows
    the limits of a user.
    """
    from rota.cli.people import usage as work

    work.quota(output)


@app.command()
@expand_options
def audit(
    chosen: AuditFilter,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check that no record was changed or removed after it was written."),
    ] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show the audit log: who did what, and what was refused, the newest last.

    Operators and admins see all records. Project-admins see those about their projects. -o json prints one
    record per line.
    """
    from rota.cli.people import audit as work

    if check:
        work.check(output)
    else:
        work.audit(chosen, output)


@app.command()
def login(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="URL",
            help="URL of the server, needed the first time. [default: the server in use]",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name for the server. [default: its host name]")
    ] = None,
    ca: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Certificate authority of the server, PEM."),
    ] = None,
) -> None:
    """Sign in with the identity provider of the server. The browser may run on any device."""
    from rota.cli.people import sign_in as work

    work.login(url, name, ca)


@app.command()
def logout() -> None:
    """Sign out: the server revokes your token and all tokens made with it."""
    from rota.cli.people import sign_in as work

    work.logout()


# -- projects

project = new_app(invoke_without_command=True)
app.add_typer(project, name="project")

ProjectName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the project.")]


@project.callback()
def list_projects(ctx: typer.Context, output: ListOutput = ListFormat.TABLE) -> None:
    """List projects and their members; add, change or remove projects."""
    if ctx.invoked_subcommand is None:
        from rota.cli.people import projects_and_tokens as work

        work.projects(output)


@project.command("set")
def set_project(
    name: ProjectName,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Description of the project.")
    ] = None,
    member: Annotated[
        list[str] | None,
        typer.Option(metavar="USER=ROLE", help=f"Add a member or change the role: {ROLES}. Can be repeated."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="Remove this member. Can be repeated.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Add a project, or change it. Members and text that aren't named stay as they are."""
    from rota.cli.people import projects_and_tokens as work

    work.set_project(name, description, member or (), without or (), dry_run=dry_run)


@project.command("rm")
def remove_project(name: ProjectName, dry_run: DryRun = False) -> None:
    """Remove a project."""
    from rota.cli.people import projects_and_tokens as work

    work.remove_project(name, dry_run=dry_run)


# -- tokens

token = new_app(invoke_without_command=True)
app.add_typer(token, name="token")


@token.callback()
def tokens(ctx: typer.Context, output: ListOutput = ListFormat.TABLE) -> None:
    """List access tokens; add or revoke them."""
    if ctx.invoked_subcommand is None:
        list_tokens(output)


@token.command("ls")
def list_tokens(output: ListOutput = ListFormat.TABLE) -> None:
    """List your tokens. Admins see all tokens."""
    from rota.cli.people import projects_and_tokens as work

    work.tokens(output)


@token.command("create", hidden=True)
@token.command("add")
def add_token(
    user: Annotated[str, typer.Argument(metavar="USER", help="User whom the token stands for.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help=f"Role of the token: {ROLES}.")] = "submitter",
    project: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Restrict the token to this project. Can be repeated. [default: all projects]",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Lifetime of the token, as in 30d. [default: no end]"),
    ] = None,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Add a token. Its secret is printed once, alone on standard output."""
    from rota.cli.people import projects_and_tokens as work

    work.add_token(user, role, project or (), expires, output, dry_run=dry_run)


@token.command("rm")
def remove_token(
    id: Annotated[str, typer.Argument(metavar="TOKEN", help="Id of the token, as `rota token` lists it.")],
    dry_run: DryRun = False,
) -> None:
    """Revoke a token, and all tokens made with it."""
    from rota.cli.people import projects_and_tokens as work

    work.remove_token(id, dry_run=dry_run)


# -- secrets

secret = new_app(invoke_without_command=True)
app.add_typer(secret, name="secret")

SecretName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the secret.")]
SecretProject = Annotated[
    str | None, typer.Option(metavar="NAME", help="Project of the secret. [default: your default project]")
]


@secret.callback()
def list_secrets(
    ctx: typer.Context, project: SecretProject = None, output: ListOutput = ListFormat.TABLE
) -> None:
    """List the names of a project's secrets; set or remove secrets."""
    if ctx.invoked_subcommand is None:
        from rota.cli.people import secrets as work

        work.secrets(project, output)


@secret.command("set")
def set_secret(
    name: SecretName,
    project: SecretProject = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--from-file", metavar="FILE", help="Read the value from this file. [default: standard input]"
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Set a secret. Rota reads its value from standard input or a file, never from an argument.

    Jobs use it by name: `rota submit --secret API_KEY=NAME -- ./upload`. The value is encrypted in the
    database, never shown, and masked in the output of jobs.
    """
    from rota.cli.people import secrets as work

    work.set_secret(name, project, file, dry_run=dry_run)


@secret.command("rm")
def remove_secret(name: SecretName, project: SecretProject = None, dry_run: DryRun = False) -> None:
    """Remove a secret. Jobs that use it can't start any more."""
    from rota.cli.people import secrets as work

    work.remove_secret(name, project, dry_run=dry_run)
