"""`rota hold`."""

from __future__ import annotations

from rota.cli.command_list import new_app
from rota.cli.options import DryRun, JobArguments, ListOutput
from rota.cli.output import ListForm

app = new_app()


@app.command()
def hold(jobs: JobArguments, dry_run: DryRun = False, output: ListOutput = ListForm.TABLE) -> None:
    """Keep waiting jobs from starting, until they are released."""
    from rota.cli.jobs.jobs import change_jobs

    change_jobs(jobs, "held", lambda server, job: server.hold(job, dry_run=dry_run), output)
