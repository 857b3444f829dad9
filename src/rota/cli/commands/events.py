"""`rota events`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import Output
from rota.cli.output import Form

app = new_app()


@app.command()
def events(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show what happens from now on, without end.")
    ] = False,
    after: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="NUMBER", help="Only after the one of this number; with -f, these first."
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="NUMBER",
            help="The newest so many; with -f, these first."
            " [default: 100, unless --after, --limit or -f is given]",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only of this kind, as in job.Ended.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only about this job, node, queue …")
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this project.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="At most so many.")] = None,
    output: Output = Form.TABLE,
) -> None:
    """Show what happened lately, the newest last, and what happens. -o json: a line each.

    --after 0 begins with the oldest that is kept.
    """
    from rota.cli.cluster.events import events

    events(after, last, kind, subject, project, limit, output, follow=follow)
