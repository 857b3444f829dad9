"""`rota token`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import DryRun, ListOutput, Output
from rota.cli.output import Form, ListForm

app = new_app(invoke_without_command=True)


@app.callback()
def token(ctx: typer.Context, output: ListOutput = ListForm.TABLE) -> None:
    """List tokens, make new ones, take them back."""
    if ctx.invoked_subcommand is None:
        from rota.cli.people.projects_and_tokens import tokens

        tokens(output)


@app.command()
def ls(output: ListOutput = ListForm.TABLE) -> None:
    """List tokens: your own; for admins, all."""
    from rota.cli.people.projects_and_tokens import tokens

    tokens(output)


@app.command()
def add(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whom it stands for.")],
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="viewer, submitter, project-admin, operator or admin.")
    ] = "submitter",
    project: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only there; give several. [default: all]")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Until when, as in 30d. [default: for ever]")
    ] = None,
    dry_run: DryRun = False,
    output: Output = Form.TABLE,
) -> None:
    """Make a token. Its secret is printed once, and nothing else to standard output."""
    from rota.cli.people.projects_and_tokens import add_token

    add_token(user, role, project or (), expires, output, dry_run=dry_run)


@app.command()
def rm(
    id: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as `rota token` lists it.")],
    dry_run: DryRun = False,
) -> None:
    """Take a token back: it is no longer valid, and neither are those that were made with it."""
    from rota.cli.people.projects_and_tokens import remove_token

    remove_token(id, dry_run=dry_run)
