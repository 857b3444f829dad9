"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.completion import job_ids
from rota.cli.output import ListFormat, OutputFormat

Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="Output format: a table, or data.")]
ListOutput = Annotated[
    ListFormat, typer.Option("--output", "-o", help="Output format: a table, data, or names only.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change; change nothing.")]
PolicyFile = Annotated[
    str | None,
    typer.Option("--policy", "-p", metavar="FILE", help="Scheduling policy. [default: Rota's own]"),
]
ConfigFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings file, read after those of the machine and the user. Can be repeated.",
    ),
]
AllowRoot = Annotated[
    bool,
    typer.Option("--allow-root", help="Allow Rota to run as root. Tasks still run as other users."),
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT", help="Log format: auto, text or json. [default: auto, which is text on a terminal]"
    ),
]

JobArgument = Annotated[
    str,
    typer.Argument(metavar="JOB", help="Job id, as in 17 or 17.3, or job name.", autocompletion=job_ids),
]
JobArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB...",
        help="Job ids or names. The id of an array stands for all its jobs.",
        autocompletion=job_ids,
    ),
]
