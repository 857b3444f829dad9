"""`rota maintenance`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import node_names
from rota.cli.options import DryRun, End, Lasting, ListOutput, Start
from rota.cli.output import ListForm

app = new_app(invoke_without_command=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")]


@app.callback()
def maintenance(ctx: typer.Context, output: ListOutput = ListForm.TABLE) -> None:
    """List what is announced; announce maintenance, or call it off."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster.calendar import maintenance

        maintenance(output)


@app.command()
def add(
    name: Name,
    start: Start,
    end: End = None,
    lasting: Lasting = None,
    node: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE", help="Which; give several. [default: all]", autocompletion=node_names),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Announce it, or change what was announced. Nothing starts that would run into it."""
    from rota.cli.cluster.calendar import add_maintenance

    add_maintenance(name, start, end, lasting, node or (), dry_run=dry_run)


@app.command()
def rm(name: Name, dry_run: DryRun = False) -> None:
    """Call it off."""
    from rota.cli.cluster.calendar import remove_maintenance

    remove_maintenance(name, dry_run=dry_run)
