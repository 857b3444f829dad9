"""`rota queues`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import queue_names
from rota.cli.options import DryRun, ListOutput
from rota.cli.output import ListForm

app = new_app(invoke_without_command=True)

Names = Annotated[list[str], typer.Argument(metavar="QUEUE...", help="Queues.", autocompletion=queue_names)]
Message = Annotated[
    str, typer.Option("--message", "-m", metavar="TEXT", help="Why; whoever waits there is told.")
]


@app.callback()
def queues(ctx: typer.Context, output: ListOutput = ListForm.TABLE) -> None:
    """List queues; pause, close or open them."""
    if ctx.invoked_subcommand is None:
        from rota.cli.cluster.queues import queues

        queues(output)


@app.command()
def pause(names: Names, message: Message = "", dry_run: DryRun = False) -> None:
    """Start no jobs of it, but for those that were promised a start. New ones may come."""
    _set(names, "paused", message, dry_run)


@app.command()
def close(names: Names, message: Message = "", dry_run: DryRun = False) -> None:
    """Take no new jobs. Those that wait still start."""
    _set(names, "closed", message, dry_run)


@app.command("open")
def open_(names: Names, message: Message = "", dry_run: DryRun = False) -> None:
    """Take jobs and start them."""
    _set(names, "open", message, dry_run)


def _set(names: list[str], state: str, message: str, dry_run: bool) -> None:
    from rota.cli.cluster.queues import set_queues
    from rota.model.calendar import QueueMode

    set_queues(names, QueueMode(state), message, dry_run=dry_run)
