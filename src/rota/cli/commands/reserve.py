"""`rota reserve`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import node_names
from rota.cli.options import DryRun, End, Lasting, ListOutput, Start
from rota.cli.output import ListForm

app = new_app(invoke_without_command=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What jobs name to use it.")]


@app.callback()
def reserve(ctx: typer.Context, output: ListOutput = ListForm.TABLE) -> None:
    """List what is reserved; reserve nodes for a period, or give them back."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster.calendar import reservations

        reservations(output)


@app.command()
def add(
    name: Name,
    start: Start,
    node: Annotated[
        list[str], typer.Option(metavar="NODE", help="Which; give several.", autocompletion=node_names)
    ],
    tenant: Annotated[
        list[str],
        typer.Option(metavar="PROJECT[/USER]", help="For whom; give several."),
    ],
    end: End = None,
    lasting: Lasting = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=AMOUNT", help="Only so much of each node, as in cpu=8. [default: whole nodes]"
        ),
    ] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help="And so many GPUs of each.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Keep nodes, or a share of each, for some people in a period."""
    from rota.cli.cluster.calendar import add_reservation

    add_reservation(name, start, end, lasting, node, tenant, resource or (), gpus, dry_run=dry_run)


@app.command()
def rm(name: Name, dry_run: DryRun = False) -> None:
    """Give it back."""
    from rota.cli.cluster.calendar import remove_reservation

    remove_reservation(name, dry_run=dry_run)
