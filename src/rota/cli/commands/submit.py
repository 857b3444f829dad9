"""`rota submit`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import TakesCommandLine, command_line, new_app
from rota.cli.job_options import Wishes, takes_wishes
from rota.cli.options import DryRun, ListOutput
from rota.cli.output import ListForm

app = new_app()


@app.command(cls=TakesCommandLine)
@takes_wishes
def submit(
    ctx: typer.Context,
    wishes: Wishes,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="Jobs in Rota's YAML or JSON, or a script with #SBATCH lines; - is stdin."
        ),
    ] = None,
    dry_run: DryRun = False,
    output: ListOutput = ListForm.TABLE,
) -> None:
    """Submit jobs: a file, a script for sbatch, or a command after --.

    Options go before what the file says, for each of its jobs. Exits with 0 once they are kept.
    """
    from rota.cli.jobs.submit import submit

    submit(file, command_line(ctx), wishes, output, dry_run=dry_run)
