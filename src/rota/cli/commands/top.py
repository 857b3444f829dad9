"""`rota top`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app

app = new_app()


@app.command()
def top(
    once: Annotated[bool, typer.Option("--once", help="Show it once.")] = False,
) -> None:
    """Show nodes and queues live; q or Ctrl-C ends it."""
    from rota.cli.cluster.top import top

    top(once=once)
