"""`rota run`."""

from __future__ import annotations

import typer

from rota.cli.command_list import TakesCommandLine, command_line, new_app
from rota.cli.job_options import Wishes, takes_wishes

app = new_app()


@app.command(cls=TakesCommandLine)
@takes_wishes
def run(ctx: typer.Context, wishes: Wishes) -> None:
    """Run a command as a job, follow its output, and exit with its status.

    Ctrl-C asks whether to leave the job alone or to cancel it; a second one cancels it, as does the first
    where nobody can be asked.

    Exits with the command's own status; 124 if it ran into its time limit, 125 if it was cancelled or
    couldn't start, 128 and the signal's number if a signal ended it.
    """
    from rota.cli.jobs.run import run

    raise typer.Exit(run(command_line(ctx), wishes))
