"""`rota limits`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import Output
from rota.cli.output import Form

app = new_app()


@app.command()
def limits(
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Somebody else's, for operators. [default: yours]")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In this project. [default: that of jobs that name none]"),
    ] = None,
    output: Output = Form.TABLE,
) -> None:
    """Show what you may ask for, how much you may hold, and how much of it you do."""
    from rota.cli.people.limits import limits

    limits(user, project, output)
