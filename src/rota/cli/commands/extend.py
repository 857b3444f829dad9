"""`rota extend`: a server's job, in earnest; or a job of files, as a question."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.exits import EX_OK, EX_REFUSED
from rota.cli.options import (
    DryRun,
    JobArgument,
    MaxFileSize,
    Now,
    OptionalCluster,
    OptionalJobs,
    Output,
    PolicyFile,
    both_or_neither,
)
from rota.cli.output import Form

app = new_app()


@app.command()
def extend(
    job: JobArgument,
    limit: Annotated[
        str,
        typer.Argument(
            metavar="LIMIT", help="Its new time limit, from its start, as in 4h; +1h adds to the one it has."
        ),
    ],
    cluster: OptionalCluster = None,
    jobs: OptionalJobs = None,
    dry_run: DryRun = False,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
) -> None:
    """Let a running job run longer, or say what is in the way, and what it costs.

    Of files, nothing is changed. Exits with 0 if it may, 2 if not, 1 on bad input.
    """
    files = both_or_neither(cluster, jobs)
    if files is None:
        from rota.cli.questions.extend_from_server import extend_on_server

        is_granted = extend_on_server(job, limit, output, dry_run=dry_run)
    else:
        from rota.cli.questions import extend_from_files as command
        from rota.cli.questions.files import Files

        is_granted = command.extend(job, limit, Files(*files, policy, now, max_file_size), output)
    raise typer.Exit(EX_OK if is_granted else EX_REFUSED)
