"""`rota watch`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import job_ids, queue_names

app = new_app()


@app.command()
def watch(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB...", help="Only these jobs or arrays.", autocompletion=job_ids),
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this project.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this user.")] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only of this queue.", autocompletion=queue_names)
    ] = None,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="End once nothing waits or runs any more.")
    ] = False,
) -> None:
    """Show jobs live, with how much of their time limits is over; q or Ctrl-C ends it.

    Where there is no terminal, they are shown once; with --until-done, each change is a line.
    """
    from rota.cli.jobs.watch import watch

    watch(jobs or (), project, user, queue, until_done=until_done)
