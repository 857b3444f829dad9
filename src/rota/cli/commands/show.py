"""`rota show`."""

from __future__ import annotations

from rota.cli.command_list import new_app
from rota.cli.options import JobArgument, Output
from rota.cli.output import Form

app = new_app()


@app.command()
def show(job: JobArgument, output: Output = Form.TABLE) -> None:
    """Show all there is to know of a job. -o wide: with what was submitted."""
    from rota.cli.jobs.jobs import show_job

    show_job(job, output)
