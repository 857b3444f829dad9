"""`rota project`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import DryRun, ListOutput
from rota.cli.output import ListForm

app = new_app(invoke_without_command=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The project.")]


@app.callback()
def project(ctx: typer.Context, output: ListOutput = ListForm.TABLE) -> None:
    """List projects, and who may do what in them."""
    if ctx.invoked_subcommand is None:
        from rota.cli.people.projects_and_tokens import projects

        projects(output)


@app.command("set")
def set_(
    name: Name,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is about.")] = None,
    member: Annotated[
        list[str] | None,
        typer.Option(metavar="USER=ROLE", help="viewer, submitter, project-admin, operator or admin."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="Who is to be a member no longer.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Make a project, or change what is given of it."""
    from rota.cli.people.projects_and_tokens import set_project

    set_project(name, description, member or (), without or (), dry_run=dry_run)


@app.command()
def rm(name: Name, dry_run: DryRun = False) -> None:
    """Remove a project."""
    from rota.cli.people.projects_and_tokens import remove_project

    remove_project(name, dry_run=dry_run)
