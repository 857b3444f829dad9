"""`rota plan`: of files, or of jobs that a server doesn't have yet."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import TakesCommandLine, command_line, new_app
from rota.cli.exits import EX_OK, EX_WAITING
from rota.cli.job_options import Wishes, takes_wishes
from rota.cli.options import History, MaxFileSize, Now, Output, PolicyFile, Record
from rota.cli.output import Form

app = new_app()


@app.command(cls=TakesCommandLine)
@takes_wishes
def plan(
    ctx: typer.Context,
    wishes: Wishes,
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|CLUSTER",
            help="Jobs to ask a server of; or, before JOBS, nodes and offers: Rota's YAML, or Kubernetes"
            " manifests; - is stdin.",
        ),
    ] = None,
    jobs: Annotated[
        str | None, typer.Argument(metavar="JOBS", help="With CLUSTER: jobs, in the same forms.")
    ] = None,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
    history: History = None,
    record: Record = None,
) -> None:
    """Show what would run where, what waits, and why.

    Of two files: as Rota would decide now. Of one file, or a command after --: what a running server
    would do if it were submitted, and whose planned starts would change; nothing is submitted.

    Exits with 0 if all is placed, 2 if something waits, 1 on bad input.
    """
    if jobs is None:
        from rota.cli.questions.plan_from_server import plan_submission

        all_placed = plan_submission(first, command_line(ctx), wishes, output)
    else:
        from rota.cli.questions import plan_from_files as command
        from rota.cli.questions.files import Files

        files = Files(str(first), jobs, policy, now, max_file_size, history)
        all_placed = command.plan(files, output, record)
    raise typer.Exit(EX_OK if all_placed else EX_WAITING)
