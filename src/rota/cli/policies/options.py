"""Options of simulations, as a struct."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer


class SimOptions(NamedTuple):
    """The options that `rota sim run` and `rota sim compare` share."""

    workload: Annotated[
        str,
        typer.Option(
            "--workload", "-w", metavar="FILE", help="The trace, also compressed. - reads standard input."
        ),
    ]
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Format of the trace. [default: recognised]"),
    ] = None
    which: Annotated[
        str | None, typer.Option(metavar="NAME", help="Workload to use, if the file has several.")
    ] = None
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="For SWF: treat the machine as one node and each job as one task. The simulation is much"
            " faster. Policies that plan starts ahead may decide otherwise; a warning names them.",
        ),
    ] = False
    first: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Use only so many jobs, the first to arrive.")
    ] = None
    jobs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a line for each job here: submit, start, end, wait, nodes, state. CSV, or JSON lines"
            " for a name that ends in .jsonl.",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", "-c", metavar="FILE", help="Nodes to use instead of those of the trace."),
    ] = None
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of all random choices.")] = 0
    load: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            metavar="FACTOR",
            help="Change the arrival times so that jobs request this share of the CPUs.",
        ),
    ] = None
    interactive: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Move this share of the jobs to the queue `interactive`."
        ),
    ] = None
    limits: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Replace time limits by careless ones: `round` guesses, or the same by `habit`.",
        ),
    ] = None
    every: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Shortest time between two cycles. [default: a cycle at each event]"
        ),
    ] = None
    estimates: Annotated[
        bool,
        typer.Option("--estimates", help="Estimate the start of every waiting job, and measure the errors."),
    ] = False
