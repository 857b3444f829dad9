"""`rota release`."""

from __future__ import annotations

from rota.cli.command_list import new_app
from rota.cli.options import DryRun, JobArguments, ListOutput
from rota.cli.output import ListForm

app = new_app()


@app.command()
def release(jobs: JobArguments, dry_run: DryRun = False, output: ListOutput = ListForm.TABLE) -> None:
    """Let held jobs start again."""
    from rota.cli.jobs.jobs import change_jobs

    change_jobs(jobs, "released", lambda server, job: server.release(job, dry_run=dry_run), output)
