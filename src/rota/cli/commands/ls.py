"""`rota ls`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import queue_names
from rota.cli.jobs.job_filter import Chosen
from rota.cli.options import ListOutput
from rota.cli.output import ListForm

app = new_app()


@app.command()
def ls(
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this project.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this user.")] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only of this queue.", autocompletion=queue_names)
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE",
            help="Only these: created, pending, scheduled, running, succeeded, failed, cancelled, timed-out.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this name.")] = None,
    label: Annotated[str | None, typer.Option(metavar="KEY=VALUE", help="Only with this label.")] = None,
    array: Annotated[str | None, typer.Option(metavar="JOB", help="Only this array, job by job.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Submitted since: 2026-05-01T12:00:00Z, or 2h for two hours ago."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Submitted before then.")] = None,
    all: Annotated[bool, typer.Option("--all", "-a", help="Also those that are over.")] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="NUMBER", help="At most so many, the newest.")
    ] = 1000,
    flat: Annotated[bool, typer.Option("--flat", help="Each job of an array by itself.")] = False,
    output: ListOutput = ListForm.TABLE,
) -> None:
    """List jobs, the newest first. Those of an array share a line."""
    from rota.cli.jobs.jobs import ls

    chosen = Chosen(
        project,
        user,
        queue,
        tuple(state or ()),
        name,
        label,
        array,
        since,
        until,
        all or bool(array),
        limit,
        flat or bool(array),
    )
    ls(chosen, output)
