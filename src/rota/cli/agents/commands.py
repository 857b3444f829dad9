"""`rota agent` and its subcommands: their arguments and options."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import AllowRoot, ConfigFiles, DryRun, ListOutput, LogFormat, Output
from rota.cli.output import ListFormat, OutputFormat

app = new_app()
agent = new_app()
app.add_typer(agent, name="agent")

MachineName = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of this machine. [default: its host name]")
]
DataFolder = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Data folder of the agent. [default: rota-agent in the user's data folder]"
    ),
]
Labels = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Label of the node. Can be repeated.")
]
Taints = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE:EFFECT",
        help="Taint of the node: jobs that don't tolerate it stay away. Can be repeated.",
    ),
]


@agent.callback(invoke_without_command=True)
def run_agent(
    context: typer.Context,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address where a server accepts agents; unix or unix:PATH on the same machine. Repeat it for"
            " each of several servers.",
        ),
    ] = None,
    name: MachineName = None,
    data: DataFolder = None,
    label: Labels = None,
    taint: Taints = None,
    pool: Annotated[
        str | None, typer.Option(metavar="POOL", help="Pool of the node. [default: default]")
    ] = None,
    log_format: LogFormat = None,
    allow_root: AllowRoot = False,
    config: ConfigFiles = None,
) -> None:
    """Run an agent: this machine runs tasks for a server.

    The agent connects to the server and stays connected. Tasks keep running when the agent stops, and the
    agent finds them again when it starts. On SIGTERM, the agent starts no new task and exits once its tasks
    have ended. On a second SIGTERM, or Ctrl-C, it exits at once; its tasks run on for as long as the server
    waits for the agent.
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


@agent.command()
def token(
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the agent. [default: its host name]")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(metavar="POOL", help="Pool of the node. [default: the agent's choice]")
    ] = None,
    label: Labels = None,
    taint: Taints = None,
    price: Annotated[
        str | None, typer.Option(metavar="PRICE", help="Price of the whole node for an hour.")
    ] = None,
    output: Output = OutputFormat.TABLE,
    dry_run: DryRun = False,
) -> None:
    """Print a token for one machine to join, valid for 15 minutes."""
    from rota.cli.agents import invitations as work

    work.invite(name, pool, label or (), taint or (), price, output, dry_run=dry_run)


@agent.command()
def join(
    token: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOKEN]",
            help="Token from `rota agent token`. Other users of this machine can see it here: prefer a pipe,"
            " ROTA_JOIN_TOKEN, or typing it when asked.",
        ),
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="URL of the server. [default: from the token]")
    ] = None,
    name: MachineName = None,
    data: DataFolder = None,
) -> None:
    """Join this machine to a server. It gets its own certificate; the key never leaves the machine."""
    from rota.cli.agents import invitations as work

    raise typer.Exit(work.join(token, server, name, data))


@agent.command()
def ls(output: ListOutput = ListFormat.TABLE) -> None:
    """List agents: their pool, what they have, their load, and what they run.

    A server lists all machines that have joined. `rota scheduler` lists those that are in its pool.
    """
    from rota.cli.agents import invitations as work

    work.agents(output)


@agent.command()
def revoke(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of agents.")],
    dry_run: DryRun = False,
) -> None:
    """Revoke the certificates of machines. They are disconnected, and need a new token to join again."""
    from rota.cli.agents import invitations as work

    work.revoke(names, dry_run=dry_run)
