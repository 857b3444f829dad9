"""Options of commands about jobs, as structs."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from rota.cli.completion import queue_names

ProjectFilter = Annotated[str | None, typer.Option(metavar="NAME", help="Show only jobs of this project.")]
UserFilter = Annotated[str | None, typer.Option(metavar="NAME", help="Show only jobs of this user.")]
QueueFilter = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Show only jobs of this queue.", autocompletion=queue_names),
]


class JobFilter(NamedTuple):
    """Which jobs `rota ls` lists. None: not filtered by this."""

    project: ProjectFilter = None
    user: UserFilter = None
    queue: QueueFilter = None
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE",
            help="Show only jobs in this state: waiting, held, starting, running, succeeded, failed,"
            " cancelled or timed-out. Can be repeated.",
        ),
    ] = None
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Show only jobs of this name.")] = None
    label: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE", help="Show only jobs with this label.")
    ] = None
    array: Annotated[
        str | None, typer.Option(metavar="JOB", help="Show each job of this array, finished ones too.")
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Show only jobs submitted since then: 2026-05-01, yesterday, 14:00, or 2h for 2 hours ago.",
        ),
    ] = None
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Show only jobs submitted before then.")
    ] = None
    all: Annotated[bool, typer.Option("--all", "-a", help="Show finished jobs too.")] = False
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000,
            metavar="NUMBER",
            help="Show at most this many, the newest; an array counts as one."
            " [default: 100 in a table; 1,000 as data, or of one array]",
            show_default=False,
        ),
    ] = None
    flat: Annotated[bool, typer.Option("--flat", help="Show each job of an array on its own line.")] = False

    @property
    def with_finished(self) -> bool:
        return self.all or bool(self.array)

    @property
    def is_flat(self) -> bool:
        return self.flat or bool(self.array)
