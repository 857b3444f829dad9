"""Options of questions about files."""

from __future__ import annotations

from typing import Annotated

import typer

OptionalCluster = Annotated[
    str | None,
    typer.Argument(
        metavar="CLUSTER",
        help="Ask about files instead of a server. This file has nodes and offers, as Rota's YAML or"
        " Kubernetes manifests. - reads standard input.",
    ),
]
OptionalJobs = Annotated[
    str | None, typer.Argument(metavar="JOBS", help="Jobs, in the same formats. Required with CLUSTER.")
]
SeveralJobs = Annotated[
    list[str] | None,
    typer.Argument(metavar="JOBS...", help="Jobs, in the same formats; several files are read as one."),
]
Now = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="For files: time of the decision, as in 2026-05-01T12:00:00Z."
        " [default: the latest time in the files, or else the current time]",
    ),
]
MaxFileSize = Annotated[
    str, typer.Option(metavar="SIZE", help="For files: refuse larger ones.", show_default=True)
]
History = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="For files: past jobs, from which starts are estimated. This is a trace, or a file that"
        " `rota sim run --learnt` wrote.",
    ),
]
Record = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Record the decision and its input here, for `rota replay`."),
]


def both_or_neither(cluster: str | None, jobs: str | None) -> tuple[str, str] | None:
    """The two files; None: a server is asked."""
    if cluster is None:
        return None
    if jobs is None:
        raise typer.BadParameter(
            "JOBS is missing; give CLUSTER and JOBS, or neither to ask a server", param_hint="JOBS"
        )
    return cluster, jobs
