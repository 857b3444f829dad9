"""`rota config`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import ListOutput, Output
from rota.cli.output import Form, ListForm

app = new_app(help="Check settings; choose among several servers.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The context.")]


@app.command()
def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Settings. [default: those of the machine and the user]"),
    ] = None,
    output: Output = Form.TABLE,
) -> None:
    """Show every setting and where it comes from, or what is wrong."""
    from rota.cli.services.config import check

    check(files, output)


@app.command()
def contexts(output: ListOutput = ListForm.TABLE) -> None:
    """List the servers that are known by name."""
    from rota.cli.services.config import contexts

    contexts(output)


@app.command()
def use(name: Name) -> None:
    """Talk to that server from now on."""
    from rota.cli.services.config import use

    use(name)


@app.command()
def add(
    name: Name,
    url: Annotated[str, typer.Option(metavar="URL", help="As in https://rota.example.org:8426.")],
    token_file: Annotated[str, typer.Option(metavar="FILE", help="A file with the token alone.")],
    ca_file: Annotated[
        str, typer.Option(metavar="FILE", help="Whom to trust, PEM. [default: whom this machine trusts]")
    ] = "",
    project: Annotated[str, typer.Option(metavar="NAME", help="Of jobs that name none.")] = "",
) -> None:
    """Give a server a name."""
    from rota.cli.services.config import add

    add(name, url, token_file, ca_file, project)
