"""Commands about jobs: their arguments and options."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import NeedsCommandLine, TakesArguments, arguments, command_line, new_app
from rota.cli.completion import job_ids
from rota.cli.job_options import JobOptions
from rota.cli.jobs.options import JobFilter, ProjectFilter, QueueFilter, UserFilter
from rota.cli.option_structs import expand_options
from rota.cli.options import DryRun, JobArgument, JobArguments, ListOutput, Output
from rota.cli.output import ListFormat, OutputFormat

app = new_app()


@app.command(cls=NeedsCommandLine)
@expand_options
def run(
    ctx: typer.Context,
    options: JobOptions,
    stdin: Annotated[
        bool | None,
        typer.Option(
            "--stdin/--no-stdin",
            "-i",
            help="Pass standard input on to the job."
            " [default: --stdin, unless that is a terminal or /dev/null]",
            show_default=False,
        ),
    ] = None,
    pty: Annotated[
        bool, typer.Option("--pty", help="Give the job this terminal, as for a shell. Ctrl-] asks to detach.")
    ] = False,
) -> None:
    """Run a command as a job, follow its output and exit with its status.

    What comes from a pipe or a file is passed on to the command: `rota run -- sort < names.txt`.

    On Ctrl-C, Rota asks whether to detach from the job or to cancel it. A second Ctrl-C cancels the job.
    Without a terminal, the first one does.

    The exit status is that of the command; 124 if the job reached its time limit; 125 if the job was
    cancelled or couldn't start; 128 plus the signal number if a signal ended the command.
    """
    from rota.cli.jobs import run as work

    raise typer.Exit(work.run(command_line(ctx), options, stdin=stdin, pty=pty))


@app.command(cls=TakesArguments)
@expand_options
def submit(
    ctx: typer.Context,
    options: JobOptions,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="Jobs in Rota's YAML or JSON, or a script with #SBATCH lines. - reads standard input.",
        ),
    ] = None,
    dry_run: DryRun = False,
    output: ListOutput = ListFormat.TABLE,
) -> None:
    """Submit jobs from a file, an sbatch script, or a command after --.

    Words behind a script are its arguments; those that begin with a dash stand after --.

    Options override the file, for every job in it. The exit status is 0 once the jobs are committed.
    """
    from rota.cli.jobs import submit as work

    work.submit(file, arguments(ctx), options, output, dry_run=dry_run)


@app.command()
@expand_options
def ls(chosen: JobFilter, output: ListOutput = ListFormat.TABLE) -> None:
    """List jobs that wait or run, the newest first. The jobs of an array share one line."""
    from rota.cli.jobs import jobs as work

    work.ls(chosen, output)


@app.command()
def show(job: JobArgument, output: Output = OutputFormat.TABLE) -> None:
    """Show the details of a job. -o wide adds the job as it was submitted."""
    from rota.cli.jobs import jobs as work

    work.show_job(job, output)


@app.command()
def logs(
    job: JobArgument,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow the output until the job ends.")
    ] = False,
    rank: Annotated[
        list[int] | None,
        typer.Option(min=0, metavar="NUMBER", help="Show only the task of this rank. Can be repeated."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Show only output since then: 2026-05-01, yesterday, 14:00, or 10m for ten minutes ago.",
        ),
    ] = None,
    tail: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Show only this much from the end, as in 4Ki.")
    ] = None,
    prefix: Annotated[
        bool | None,
        typer.Option(
            "--prefix/--raw",
            help="Start each line with its rank and time, or show the bytes as they were written."
            " [default: --prefix for several tasks on a terminal]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the output of a job's tasks, in the order in which it was written."""
    from rota.cli.jobs import logs as work

    work.logs(job, rank or (), since, tail, follow=follow, prefix=prefix)


@app.command()
def fetch(
    job: JobArgument,
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="Only this file or folder, or what this pattern means."),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="DIR", help="Folder the files go to. [default: this one]", show_default=False
        ),
    ] = ".",
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    listing: Annotated[
        bool, typer.Option("--list", "-l", help="List the files and what is missing; fetch nothing.")
    ] = False,
    output: Annotated[
        ListFormat | None,
        typer.Option("--output", "-o", help="Output format of --list: a table, data, or names only."),
    ] = None,
) -> None:
    """Fetch the files that a job has kept: its outputs, as declared with --keep or in its file.

    If several tasks left files of the same path, each task has a folder named after its rank. Of an array,
    each job has a folder named after its id.

    The exit status is 3 if something that was declared is missing.
    """
    from rota.cli.jobs import fetch as work

    work.check_options(output, listing=listing, force=force)
    if listing:
        raise typer.Exit(work.list_files(job, path, output or ListFormat.TABLE))
    raise typer.Exit(work.fetch(job, path, to, force=force))


@app.command()
def watch(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB...", help="Watch only these jobs or arrays.", autocompletion=job_ids),
    ] = None,
    project: ProjectFilter = None,
    user: UserFilter = None,
    queue: QueueFilter = None,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Exit once no job waits or runs any more.")
    ] = False,
) -> None:
    """Watch the progress of jobs. Press q or Ctrl-C to quit.

    Without a terminal, jobs are shown once. With --until-done, each change is printed as a line.
    """
    from rota.cli.jobs import watch as work

    work.watch(jobs or (), project, user, queue, until_done=until_done)


@app.command()
def wait(
    jobs: JobArguments,
    any_one: Annotated[
        bool, typer.Option("--any", help="Wait for the first that is over, not for all.")
    ] = False,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Wait at most this long, as in 90s or 2h.")
    ] = None,
    output: ListOutput = ListFormat.TABLE,
) -> None:
    """Wait until jobs are over.

    The exit status is 0 if all have succeeded. Otherwise it is that of the first of them that hasn't, as with
    `rota run`; 124 also stands for a timeout.
    """
    from rota.cli.jobs import wait as work

    raise typer.Exit(work.wait(jobs, timeout, output, any_one=any_one))


@app.command()
def cancel(
    jobs: JobArguments,
    message: Annotated[
        str,
        typer.Option("--message", "-m", metavar="TEXT", help="Reason, shown with the job."),
    ] = "",
    dry_run: DryRun = False,
    output: ListOutput = ListFormat.TABLE,
) -> None:
    """Cancel jobs that wait or run."""
    from rota.cli.jobs import jobs as work

    work.change_jobs(
        jobs,
        "cancelled",
        lambda server, job: server.cancel(job, message=message, dry_run=dry_run),
        output,
    )


@app.command()
def hold(jobs: JobArguments, dry_run: DryRun = False, output: ListOutput = ListFormat.TABLE) -> None:
    """Hold waiting jobs: they don't start until they are released."""
    from rota.cli.jobs import jobs as work

    work.change_jobs(jobs, "held", lambda server, job: server.hold(job, dry_run=dry_run), output)


@app.command()
def release(jobs: JobArguments, dry_run: DryRun = False, output: ListOutput = ListFormat.TABLE) -> None:
    """Release held jobs, so that they can start."""
    from rota.cli.jobs import jobs as work

    work.change_jobs(jobs, "released", lambda server, job: server.release(job, dry_run=dry_run), output)


@app.command()
def eff(jobs: JobArguments, output: Output = OutputFormat.TABLE) -> None:
    """Compare the resources that jobs used with their requests."""
    from rota.cli.jobs import efficiency as work

    work.eff(jobs, output)
