"""`rota sim`: policies tried on recorded workloads."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import Output, PolicyFile
from rota.cli.output import Form

app = new_app(help="Try policies on recorded workloads, with the engine that decides in earnest.")


@app.command()
def openb(
    nodes: Annotated[str, typer.Option(metavar="FILE", help="The trace's nodes, CSV.")],
    pods: Annotated[str, typer.Option(metavar="FILE", help="The trace's pods, CSV.")],
    arrivals: Annotated[str, typer.Option(metavar="FILE", help="Orders of arrival, JSON, also packed.")],
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Which of the orders.")],
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="A packing plugin, or one of Rota's strategies.")
    ] = "gpu-packing",
    output: Output = Form.TABLE,
) -> None:
    """Pack GPUs: how much of them is allocated when more is asked for than there is?"""
    from rota.cli.policies.sim.openb import openb

    openb(nodes, pods, arrivals, seed, policy, output)


WorkloadFile = Annotated[
    str, typer.Option("--workload", "-w", metavar="FILE", help="The trace, plain or packed; - is stdin.")
]
TraceFormat = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="The trace's. [default: as the file looks]"),
]
Which = Annotated[str | None, typer.Option(metavar="NAME", help="Of a file with several workloads.")]
Whole = Annotated[
    bool,
    typer.Option(
        "--whole", help="SWF: the machine is one node, a job one task. Schedules stay the same, much faster."
    ),
]
SimCluster = Annotated[
    str | None,
    typer.Option("--cluster", "-c", metavar="FILE", help="Other nodes than the workload's own."),
]
Seed = Annotated[int, typer.Option(metavar="NUMBER", help="For all that is drawn.")]
Load = Annotated[
    float | None,
    typer.Option(
        min=0.001, metavar="FACTOR", help="Let jobs arrive so that they ask for this part of the CPUs."
    ),
]
Interactive = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, metavar="SHARE", help="Move this share of the jobs to the queue `interactive`."
    ),
]
Limits = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Time limits as careless users give them: `round` guesses, or out of `habit` always the same.",
    ),
]
Estimates = Annotated[
    bool,
    typer.Option(
        "--estimates", help="Tell every job that waits when it will start, and measure how true that was."
    ),
]
Every = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="Decide at most so often. [default: whenever something happens]"),
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="DIR", help="Write a page with pictures into this folder.")
]


@app.command("run")
def sim_run(
    workload: WorkloadFile,
    cluster: SimCluster = None,
    policy: PolicyFile = None,
    seed: Seed = 0,
    load: Load = None,
    interactive: Interactive = None,
    limits: Limits = None,
    every: Every = None,
    estimates: Estimates = False,
    format: TraceFormat = None,
    which: Which = None,
    whole: Whole = False,
    record: Annotated[
        str | None, typer.Option(metavar="DIR", help="Record every cycle, for `rota replay`.")
    ] = None,
    report: Report = None,
    learnt: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --estimates: write down what was learnt, for `rota plan … --history FILE`.",
        ),
    ] = None,
    output: Output = Form.TABLE,
) -> None:
    """Replay a workload under a policy, and measure what comes of it."""
    from rota.cli.policies.sim import command
    from rota.cli.policies.sim.experiment import Wishes

    wishes = Wishes(
        workload, format, which, whole, cluster, seed, load, interactive, limits, every, estimates
    )
    command.run(wishes, policy, record, report, learnt, output)


@app.command()
def compare(
    workload: WorkloadFile,
    policy: Annotated[
        list[str], typer.Option("--policy", "-p", metavar="FILE", help="How to decide; give several.")
    ],
    cluster: SimCluster = None,
    seed: Seed = 0,
    load: Load = None,
    interactive: Interactive = None,
    limits: Limits = None,
    every: Every = None,
    estimates: Estimates = False,
    format: TraceFormat = None,
    which: Which = None,
    whole: Whole = False,
    report: Report = None,
    output: Output = Form.TABLE,
) -> None:
    """Replay a workload under several policies, side by side."""
    from rota.cli.policies.sim import command
    from rota.cli.policies.sim.experiment import Wishes

    wishes = Wishes(
        workload, format, which, whole, cluster, seed, load, interactive, limits, every, estimates
    )
    command.compare(wishes, policy, report, output)
