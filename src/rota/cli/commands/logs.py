"""`rota logs`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import JobArgument

app = new_app()


@app.command()
def logs(
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job is over.")] = False,
    rank: Annotated[
        list[int] | None, typer.Option(min=0, metavar="NUMBER", help="Only what this task wrote.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Since then: 2026-05-01T12:00:00Z, or 10m for ten minutes ago."),
    ] = None,
    tail: Annotated[str | None, typer.Option(metavar="SIZE", help="Only the end of it, as in 4Ki.")] = None,
    prefix: Annotated[
        bool | None,
        typer.Option(
            "--prefix/--raw",
            help="Each line with its rank and time, or bytes as they were written."
            " [default: lines if several tasks are shown on a terminal]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what a job wrote: what its tasks wrote, as it came."""
    from rota.cli.jobs.logs import logs

    logs(job, rank or (), since, tail, follow=follow, prefix=prefix)
