"""Options of `rota audit`, as a struct."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, NamedTuple

import typer


class AuditFilter(NamedTuple):
    """Which records are shown. None: not filtered by this."""

    user: Annotated[str | None, typer.Option(metavar="NAME", help="Show only requests of this user.")] = None
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Show only requests with the token of this id.")
    ] = None
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Show only requests from this address.")
    ] = None
    verdict: Annotated[
        str | None,
        typer.Option(metavar="VERDICT", help="Show only requests that were done, refused or failed."),
    ] = None
    subject: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show only requests about this job, node, token, …")
    ] = None
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show only requests about this project.")
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Show only requests since then: 2026-05-01, yesterday, 14:00, or 2h for two hours ago.",
        ),
    ] = None
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Show only requests before then.")] = None
    limit: Annotated[
        int,
        typer.Option(min=1, max=1_000_000, metavar="NUMBER", help="Show at most this many, the newest."),
    ] = 100


class UsageKind(Enum):
    """As `UsageBy` of the server has it, which commands needn't load."""

    PROJECT = "project"
    USER = "user"
    QUEUE = "queue"
