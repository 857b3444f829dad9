"""`rota why`: one job of a server, or of files."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import job_ids
from rota.cli.options import (
    History,
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
def why(
    job: Annotated[
        str, typer.Argument(metavar="JOB", help="A job, or one of its tasks.", autocompletion=job_ids)
    ],
    cluster: OptionalCluster = None,
    jobs: OptionalJobs = None,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
    history: History = None,
) -> None:
    """Explain one job: verdicts, scores, what would help."""
    files = both_or_neither(cluster, jobs)
    if files is None:
        from rota.cli.live.why import why_of_server

        why_of_server(job, output)
    else:
        from rota.cli.question import Files
        from rota.cli.why import command

        command.why(job, Files(*files, policy, now, max_file_size, history), output)
