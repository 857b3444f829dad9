"""`rota secret`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import DryRun, ListOutput
from rota.cli.output import ListForm

app = new_app(invoke_without_command=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The secret's name.")]
Project = Annotated[
    str | None, typer.Option(metavar="NAME", help="The project it belongs to. [default: yours]")
]


@app.callback()
def secret(ctx: typer.Context, project: Project = None, output: ListOutput = ListForm.TABLE) -> None:
    """List a project's secrets by name, set or remove them."""
    if ctx.invoked_subcommand is None:
        from rota.cli.people.secrets import secrets

        secrets(project, output)


@app.command("set")
def set_(
    name: Name,
    project: Project = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--from-file", metavar="FILE", help="Read the value from a file. [default: standard input]"
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Set a secret. Its value is read from standard input or a file, never from an argument.

    Jobs get it by name: `rota submit --secret API_KEY=NAME -- ./upload`. It is sealed in the database, isn't
    shown to anybody, and is masked in what jobs write."""
    from rota.cli.people.secrets import set_secret

    set_secret(name, project, file, dry_run=dry_run)


@app.command()
def rm(name: Name, project: Project = None, dry_run: DryRun = False) -> None:
    """Remove a secret. Jobs that name it can't start any more."""
    from rota.cli.people.secrets import remove_secret

    remove_secret(name, project, dry_run=dry_run)
