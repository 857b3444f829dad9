"""`rota cancel`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import DryRun, JobArguments, ListOutput
from rota.cli.output import ListForm

app = new_app()


@app.command()
def cancel(
    jobs: JobArguments,
    message: Annotated[
        str, typer.Option("--message", "-m", metavar="TEXT", help="Why; whoever looks is told.")
    ] = "",
    dry_run: DryRun = False,
    output: ListOutput = ListForm.TABLE,
) -> None:
    """End jobs, whether they wait or run."""
    from rota.cli.jobs.jobs import change_jobs

    change_jobs(
        jobs,
        "cancelled",
        lambda server, job: server.cancel(job, message=message, dry_run=dry_run),
        output,
    )
