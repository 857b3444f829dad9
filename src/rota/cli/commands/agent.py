"""`rota agent`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import DryRun, ListOutput, Output
from rota.cli.output import Form, ListForm

app = new_app()


@app.callback(invoke_without_command=True)
def agent(
    context: typer.Context,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where a server takes agents; unix or unix:PATH on its own machine. Of several, give all.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of this machine. [default: its host name]")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where tasks live. [default: rota-agent in the user's data folder]"),
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Of the node; may be given again.")
    ] = None,
    taint: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE:EFFECT", help="Keeps jobs away that don't tolerate it."),
    ] = None,
    pool: Annotated[str | None, typer.Option(metavar="POOL", help="[default: default]")] = None,
    log_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="auto, text or json. [default: auto: text on a terminal]"),
    ] = None,
    allow_root: Annotated[
        bool, typer.Option("--allow-root", help="Run as root; jobs run as others all the same.")
    ] = False,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Settings, after those of the machine and the user."),
    ] = None,
) -> None:
    """Let this machine work for a server elsewhere.

    The agent dials the server and stays connected; tasks outlive it and are found again at its next start.
    SIGTERM: nothing new starts, and it leaves once its tasks have ended. SIGTERM again, or Ctrl-C: it leaves
    at once; tasks go on for as long as the server waits for it.
    """
    if context.invoked_subcommand is not None:
        return
    from rota.cli.agents.agent import work

    flags: dict[str, object] = {
        "agent.server": ",".join(server) if server else None,
        "worker.name": name,
        "agent.data": data,
        "agent.labels": ",".join(label) if label else None,
        "agent.taints": ",".join(taint) if taint else None,
        "agent.pool": pool,
        "worker.allow_root": allow_root or None,
        "logs.format": log_format,
    }
    raise typer.Exit(work(config or (), flags))


@app.command()
def token(
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the agent. [default: its host's name]")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(metavar="POOL", help="Of its node. [default: as it says]")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Of its node; may be given again.")
    ] = None,
    taint: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE:EFFECT", help="Of its node; may be given again.")
    ] = None,
    price: Annotated[
        str | None, typer.Option(metavar="PRICE", help="Of its node, for an hour of the whole.")
    ] = None,
    output: Output = Form.TABLE,
    dry_run: DryRun = False,
) -> None:
    """Invite a machine: print a token that it can join with, once, within 15 minutes."""
    from rota.cli.agents.invitations import invite

    invite(name, pool, label or (), taint or (), price, output, dry_run=dry_run)


@app.command()
def join(
    token: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOKEN]",
            help="Of `rota agent token`. Better from a pipe or ROTA_JOIN_TOKEN, or typed when asked for: "
            "other users of this machine see what is given here.",
        ),
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Where it is. [default: as the token says]")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of this machine. [default: its host name]")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Of the agent. [default: rota-agent in the user's data folder]"),
    ] = None,
) -> None:
    """Join this machine to a server: it gets a certificate of its own, for a key that never leaves it."""
    from rota.cli.agents.invitations import join

    raise typer.Exit(join(token, server, name, data))


@app.command()
def ls(output: ListOutput = ListForm.TABLE) -> None:
    """List machines that have joined."""
    from rota.cli.agents.invitations import agents

    agents(output)


@app.command()
def revoke(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Agents.")],
    dry_run: DryRun = False,
) -> None:
    """Cut machines off: their certificates count no more. They may be invited again."""
    from rota.cli.agents.invitations import revoke

    revoke(names, dry_run=dry_run)
