"""`rota nodes`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import node_names
from rota.cli.options import DryRun, ListOutput
from rota.cli.output import ListForm

app = new_app(invoke_without_command=True)

Names = Annotated[list[str], typer.Argument(metavar="NODE...", help="Nodes.", autocompletion=node_names)]
Message = Annotated[
    str | None, typer.Option("--message", "-m", metavar="TEXT", help="Why; whoever looks is told.")
]


@app.callback()
def nodes(ctx: typer.Context, output: ListOutput = ListForm.TABLE) -> None:
    """List nodes; cordon, drain or taint them."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster.nodes import nodes

        nodes(output)


@app.command()
def cordon(names: Names, message: Message = None, dry_run: DryRun = False) -> None:
    """Start nothing new there. What runs goes on."""
    from rota.cli.cluster.nodes import cordon

    cordon(names, cordoned=True, message=message, dry_run=dry_run)


@app.command()
def uncordon(names: Names, dry_run: DryRun = False) -> None:
    """Let nodes take work again, also those that were drained."""
    from rota.cli.cluster.nodes import cordon

    cordon(names, cordoned=False, message="", dry_run=dry_run)


@app.command()
def drain(names: Names, message: Message = None, dry_run: DryRun = False) -> None:
    """Let what runs there end, and then nothing."""
    from rota.cli.cluster.nodes import drain

    drain(names, message=message, dry_run=dry_run)


@app.command()
def taint(
    name: Annotated[str, typer.Argument(metavar="NODE", help="A node.", autocompletion=node_names)],
    taints: Annotated[
        list[str],
        typer.Argument(
            metavar="TAINT...",
            help="KEY[=VALUE]:EFFECT, the effect being NoSchedule, PreferNoSchedule or NoExecute;"
            " KEY- or KEY:EFFECT- removes.",
        ),
    ],
    dry_run: DryRun = False,
) -> None:
    """Keep off what doesn't tolerate it."""
    from rota.cli.cluster.nodes import taint

    taint(name, taints, dry_run=dry_run)
