"""Commands about nodes, queues and periods of time, and the event log: their arguments and options."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.cluster.options import EventFilter
from rota.cli.command_list import new_app
from rota.cli.completion import node_names, queue_names
from rota.cli.option_structs import expand_options
from rota.cli.options import DryRun, ListOutput, Output
from rota.cli.output import ListFormat, OutputFormat

app = new_app()


@app.command()
def top(once: Annotated[bool, typer.Option("--once", help="Show the tables once and exit.")] = False) -> None:
    """Watch nodes and queues. Press q or Ctrl-C to quit."""
    from rota.cli.cluster import top as work

    work.top(once=once)


@app.command()
@expand_options
def events(chosen: EventFilter, output: Output = OutputFormat.TABLE) -> None:
    """Show recent events, the newest last. -o json prints one event per line.

    --after 0 starts with the oldest event in the database.
    """
    from rota.cli.cluster import events as work

    work.events(chosen, output)


# -- nodes

nodes = new_app(invoke_without_command=True)
app.add_typer(nodes, name="nodes")

Nodes = Annotated[
    list[str], typer.Argument(metavar="NODE...", help="Names of nodes.", autocompletion=node_names)
]
NodeMessage = Annotated[
    str | None, typer.Option("--message", "-m", metavar="TEXT", help="Reason, shown with the node.")
]


@nodes.callback()
def list_nodes(ctx: typer.Context, output: ListOutput = ListFormat.TABLE) -> None:
    """List nodes; cordon, drain or taint them."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster import nodes as work

        work.nodes(output)


@nodes.command()
def cordon(names: Nodes, message: NodeMessage = None, dry_run: DryRun = False) -> None:
    """Cordon nodes: no new task starts there. Running tasks go on."""
    from rota.cli.cluster import nodes as work

    work.cordon(names, cordoned=True, message=message, dry_run=dry_run)


@nodes.command()
def uncordon(names: Nodes, dry_run: DryRun = False) -> None:
    """Uncordon nodes: they take new tasks again. This also ends a drain."""
    from rota.cli.cluster import nodes as work

    work.cordon(names, cordoned=False, message="", dry_run=dry_run)


@nodes.command()
def drain(names: Nodes, message: NodeMessage = None, dry_run: DryRun = False) -> None:
    """Drain nodes: running tasks finish, and no new task starts."""
    from rota.cli.cluster import nodes as work

    work.drain(names, message=message, dry_run=dry_run)


@nodes.command()
def taint(
    name: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.", autocompletion=node_names)],
    taints: Annotated[
        list[str],
        typer.Argument(
            metavar="TAINT...",
            help="KEY[=VALUE]:EFFECT adds a taint. The effect is NoSchedule, PreferNoSchedule or NoExecute."
            " KEY- or KEY:EFFECT- removes one.",
        ),
    ],
    dry_run: DryRun = False,
) -> None:
    """Add taints to a node, or remove them. Jobs that don't tolerate a taint stay away from the node."""
    from rota.cli.cluster import nodes as work

    work.taint(name, taints, dry_run=dry_run)


# -- queues

queues = new_app(invoke_without_command=True)
app.add_typer(queues, name="queues")

Queues = Annotated[
    list[str], typer.Argument(metavar="QUEUE...", help="Names of queues.", autocompletion=queue_names)
]
QueueMessage = Annotated[
    str, typer.Option("--message", "-m", metavar="TEXT", help="Reason, shown to users of the queue.")
]


@queues.callback()
def list_queues(ctx: typer.Context, output: ListOutput = ListFormat.TABLE) -> None:
    """List queues; pause, close or open them."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster import queues as work

        work.queues(output)


@queues.command()
def pause(names: Queues, message: QueueMessage = "", dry_run: DryRun = False) -> None:
    """Pause queues: jobs wait, except those with a promised start. New jobs are accepted."""
    _set_queues(names, "paused", message, dry_run)


@queues.command()
def close(names: Queues, message: QueueMessage = "", dry_run: DryRun = False) -> None:
    """Close queues: new jobs are refused. Waiting jobs still start."""
    _set_queues(names, "closed", message, dry_run)


@queues.command("open")
def open_queue(names: Queues, message: QueueMessage = "", dry_run: DryRun = False) -> None:
    """Open queues: new jobs are accepted, and waiting jobs start."""
    _set_queues(names, "open", message, dry_run)


def _set_queues(names: list[str], state: str, message: str, dry_run: bool) -> None:
    from rota.cli.cluster.queues import set_queues
    from rota.model.calendar import QueueMode

    set_queues(names, QueueMode(state), message, dry_run=dry_run)


# -- periods of time

Start = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Start: 2026-05-01T12:00:00Z, 14:00, tomorrow 09:00, now, or 2h for two hours from now.",
    ),
]
End = Annotated[str | None, typer.Option(metavar="TIME", help="End. Give this or --for.")]
Lasting = Annotated[
    str | None, typer.Option("--for", metavar="DURATION", help="Duration, as in 4h. Give this or --end.")
]

maintenance = new_app(invoke_without_command=True)
app.add_typer(maintenance, name="maintenance")

MaintenanceName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the maintenance.")]


@maintenance.callback()
def list_maintenance(ctx: typer.Context, output: ListOutput = ListFormat.TABLE) -> None:
    """List announced maintenance; announce or cancel it."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster import calendar as work

        work.maintenance(output)


@maintenance.command("add")
def add_maintenance(
    name: MaintenanceName,
    start: Start,
    end: End = None,
    lasting: Lasting = None,
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE",
            help="Node under maintenance. Can be repeated. [default: all nodes]",
            autocompletion=node_names,
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Announce maintenance, or change it. No job starts that would still run when it begins."""
    from rota.cli.cluster import calendar as work

    work.add_maintenance(name, start, end, lasting, node or (), dry_run=dry_run)


@maintenance.command("rm")
def remove_maintenance(name: MaintenanceName, dry_run: DryRun = False) -> None:
    """Cancel maintenance."""
    from rota.cli.cluster import calendar as work

    work.remove_maintenance(name, dry_run=dry_run)


reserve = new_app(invoke_without_command=True)
app.add_typer(reserve, name="reserve")

ReservationName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the reservation. Jobs name it to use it.")
]


@reserve.callback()
def list_reservations(ctx: typer.Context, output: ListOutput = ListFormat.TABLE) -> None:
    """List reservations; reserve nodes for a period, or remove a reservation."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster import calendar as work

        work.reservations(output)


@reserve.command("add")
def add_reservation(
    name: ReservationName,
    start: Start,
    node: Annotated[
        list[str],
        typer.Option(metavar="NODE", help="Reserved node. Can be repeated.", autocompletion=node_names),
    ],
    tenant: Annotated[
        list[str],
        typer.Option(
            metavar="PROJECT[/USER]", help="Project or user that may use the nodes. Can be repeated."
        ),
    ],
    end: End = None,
    lasting: Lasting = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=AMOUNT",
            help="Reserve only this amount on each node, as in cpu=8. Can be repeated."
            " [default: whole nodes]",
        ),
    ] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help="Number of GPUs to reserve on each node.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Reserve nodes, or a share of each, for a period."""
    from rota.cli.cluster import calendar as work

    work.add_reservation(name, start, end, lasting, node, tenant, resource or (), gpus, dry_run=dry_run)


@reserve.command("rm")
def remove_reservation(name: ReservationName, dry_run: DryRun = False) -> None:
    """Remove a reservation."""
    from rota.cli.cluster import calendar as work

    work.remove_reservation(name, dry_run=dry_run)
