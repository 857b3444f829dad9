"""`rota login`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app

app = new_app()


@app.command()
def login(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="URL",
            help="The server, the first time. [default: the context in use]",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call it. [default: the name of its host]")
    ] = None,
    ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Whom to trust that its certificate is right.")
    ] = None,
) -> None:
    """Sign in with the provider that the server names, in a browser on any device."""
    from rota.cli.people.sign_in import login

    login(url, name, ca)
