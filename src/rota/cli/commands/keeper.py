"""`rota keeper`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app

app = new_app()


@app.command()
def keeper(
    server: Annotated[
        bool, typer.Option("--server", help="For a server's own jobs, and not for an agent's.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Of the agent, or the server. [default: as its settings say]"),
    ] = None,
    allow_root: Annotated[
        bool, typer.Option("--allow-root", help="Run as root; jobs run as others all the same.")
    ] = False,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Settings, after those of the machine and the user."),
    ] = None,
) -> None:
    """Start and keep the jobs of an agent, as a service of its own.

    Only needed where jobs run as other accounts: the keeper then has the right to start them so, and neither
    agent nor server needs any. It runs under the same account as the agent; see docs/process-backend.md.
    """
    from rota.cli.services.keeper import keep

    flags: dict[str, object] = {
        "server.data" if server else "agent.data": data,
        "worker.allow_root": allow_root or None,
    }
    raise typer.Exit(keep(config or (), flags, for_server=server))
