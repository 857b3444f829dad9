"""Options of `rota events`, as a struct."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer


class EventFilter(NamedTuple):
    """Which events are shown. None: not filtered by this."""

    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new events as they happen, without end.")
    ] = False
    after: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="Show only events after the one with this number. With -f, show these first.",
        ),
    ] = None
    last: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="NUMBER",
            help="Show this many of the newest events. With -f, show these first."
            " [default: 100, unless --after, --limit or -f is given]",
            show_default=False,
        ),
    ] = None
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Show only events of this kind, as in job.Ended.")
    ] = None
    subject: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show only events of this job, node, queue, …")
    ] = None
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Show only events of this project.")] = (
        None
    )
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Show at most this many events.")
    ] = None
