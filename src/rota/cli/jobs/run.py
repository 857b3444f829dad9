"""`rota run`: submits one job, and follows it."""

from __future__ import annotations

from collections.abc import Sequence

from rota.cli.client.connection import connect
from rota.cli.job_options import JobOptions
from rota.cli.jobs.input_choice import chosen_input, fields_of
from rota.cli.jobs.jobs_to_send import read_jobs, send
from rota.cli.later import typer
from rota.cli.output import talk
from rota.views.quoting import one_line


def run(command: Sequence[str], options: JobOptions, *, stdin: bool | None = None, pty: bool = False) -> int:
    """The exit code."""
    if not command:
        raise typer.BadParameter("give a command after --, as in `rota run -- make`", param_hint="COMMAND")
    if options.array is not None:
        raise typer.BadParameter("`rota run` follows one job; use `rota submit`", param_hint="--array")
    choice = chosen_input(options, stdin, pty=pty)
    jobs = read_jobs(None, command, options, fields_of(choice))
    with connect() as server:
        [job] = send(server, jobs).jobs
        talk(f"submitted job {job.id} ({one_line(job.name)})")
        # Only now: while this is imported, the job starts.
        from rota.cli.jobs.following import follow

        return follow(server, job.id, choice)
