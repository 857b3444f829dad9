"""Commands that try policies on recorded data, and `rota plugins`: their arguments and options."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.exits import EX_BAD_INPUT, EX_DIFFERENT, EX_OK
from rota.cli.option_structs import expand_options
from rota.cli.options import Output, PolicyFile
from rota.cli.output import OutputFormat
from rota.cli.policies.options import SimOptions

app = new_app()


@app.command()
def replay(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of recorded cycles, from --record.")],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="FILE",
            help="Decide by this policy and show the differences. [default: the recorded policy]",
        ),
    ] = None,
    cycle: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Show only this cycle, in detail.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show all cycles that differ, and not just the first.")
    ] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Repeat recorded scheduling cycles, and show every plan that differs from the record.

    The exit status is 0 if all plans are equal, 2 if one differs, 1 on bad input or a damaged record.
    """
    from rota.cli.policies.replay import command

    outcome = command.replay(folder, policy, cycle, output, every=every)
    codes = {command.ReplayResult.EQUAL: EX_OK, command.ReplayResult.DIFFERENT: EX_DIFFERENT}
    raise typer.Exit(codes.get(outcome, EX_BAD_INPUT))


@app.command()
def plugins(
    local: Annotated[
        bool, typer.Option("--local", help="List those that are installed on this machine, not the server's.")
    ] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """List scheduling plugins: where they come from, what they do, and what went wrong with them."""
    from rota.cli.policies import plugins as work

    work.plugins(output, local=local)


# -- simulations

sim = new_app(help="Simulate policies on recorded workloads, with the engine of the real scheduler.")
app.add_typer(sim, name="sim")

Report = Annotated[
    str | None, typer.Option("--report", metavar="DIR", help="Write a web page with charts to this folder.")
]


@sim.command()
@expand_options
def run(
    options: SimOptions,
    policy: PolicyFile = None,
    record: Annotated[
        str | None, typer.Option(metavar="DIR", help="Record every cycle here, for `rota replay`.")
    ] = None,
    report: Report = None,
    learnt: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --estimates: write what was learnt about run times, for `rota plan … --history FILE`.",
        ),
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Simulate a workload under one policy, and show the measurements."""
    from rota.cli.policies.sim import command

    command.run(options, policy, record, report, learnt, output)


@sim.command()
@expand_options
def compare(
    options: SimOptions,
    policy: Annotated[
        list[str], typer.Option("--policy", "-p", metavar="FILE", help="Scheduling policy. Repeat for each.")
    ],
    report: Report = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Simulate a workload under several policies, and compare the measurements."""
    from rota.cli.policies.sim import command

    command.compare(options, policy, report, output)


@sim.command()
def openb(
    nodes: Annotated[str, typer.Option(metavar="FILE", help="Nodes of the trace, CSV.")],
    pods: Annotated[str, typer.Option(metavar="FILE", help="Pods of the trace, CSV.")],
    arrivals: Annotated[str, typer.Option(metavar="FILE", help="Orders of arrival, JSON, also compressed.")],
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Which order of arrival to use.")],
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="Packing plugin, or a strategy of Rota.")
    ] = "gpu-packing",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Pack pods onto GPUs, and show how many GPUs are allocated when pods request more than there are."""
    from rota.cli.policies.sim import openb as work

    work.openb(nodes, pods, arrivals, seed, policy, output)
