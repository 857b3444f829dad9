"""What a shell starts: the commands and their options, exit codes, and errors as one line each."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from rota import __version__
from rota.cli.output import Form, ReaderLeft, talk, write, write_document

EX_OK = 0
EX_BAD_INPUT = 1
EX_WAITING = 2
EX_DIFFERENT = 2
EX_REFUSED = 2
EX_BUG = 70
"""EX_SOFTWARE of sysexits.h."""
EX_IO = 74
"""EX_IOERR of the same."""
EX_INTERRUPTED = 130
EX_BROKEN_PIPE = 141
"""As a shell says of a process that SIGPIPE ended."""

app = typer.Typer(
    name="rota",
    help="Decides what runs where and when, and can say why.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Cluster = Annotated[
    str,
    typer.Argument(
        metavar="CLUSTER", help="Nodes and offers: Rota's YAML, or Kubernetes manifests; - is stdin."
    ),
]
Jobs = Annotated[str, typer.Argument(metavar="JOBS", help="Jobs, in the same forms.")]
PolicyFile = Annotated[
    str | None,
    typer.Option("--policy", "-p", metavar="FILE", help="How to decide. [default: Rota's own way]"),
]
Now = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Decide as of this moment, as in 2026-05-01T12:00:00Z."
        " [default: the latest that the files speak of, or else the present]",
    ),
]
Output = Annotated[Form, typer.Option("--output", "-o", help="Tables for people, or data.")]
MaxFileSize = Annotated[
    str, typer.Option(metavar="SIZE", help="Refuse files that are larger.", show_default=True)
]

History = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Past jobs to learn from, for estimated starts: a trace, or what `rota sim run --learnt` wrote.",
    ),
]
Record = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Record what is decided, and by what, for `rota replay`."),
]


@app.command()
def plan(
    cluster: Cluster,
    jobs: Jobs,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
    history: History = None,
    record: Record = None,
) -> None:
    """Show what would run where, what waits, and why.

    Exits with 0 if all is placed, 2 if something waits, 1 on bad input.
    """
    from rota.cli.plan import command
    from rota.cli.question import Files

    files = Files(cluster, jobs, policy, now, max_file_size, history)
    all_placed = command.plan(files, output, record)
    raise typer.Exit(EX_OK if all_placed else EX_WAITING)


@app.command()
def why(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job, or one of its tasks.")],
    cluster: Cluster,
    jobs: Jobs,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
    history: History = None,
) -> None:
    """Explain one job: verdicts, scores, what would help."""
    from rota.cli.question import Files
    from rota.cli.why import command

    command.why(job, Files(cluster, jobs, policy, now, max_file_size, history), output)


@app.command()
def extend(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job that runs.")],
    limit: Annotated[
        str,
        typer.Argument(
            metavar="LIMIT", help="Its new time limit, from its start, as in 4h; +1h adds to the one it has."
        ),
    ],
    cluster: Cluster,
    jobs: Jobs,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
) -> None:
    """Show whether a job may run longer, what is in the way, and what it would cost.

    Nothing is changed. Exits with 0 if it may, 2 if not, 1 on bad input.
    """
    from rota.cli.extend import command
    from rota.cli.question import Files

    is_granted = command.extend(job, limit, Files(cluster, jobs, policy, now, max_file_size), output)
    raise typer.Exit(EX_OK if is_granted else EX_REFUSED)


sim = typer.Typer(help="Try policies on recorded workloads, with the engine that decides in earnest.")
app.add_typer(sim, name="sim")


@sim.callback()
def _sim() -> None:
    pass


@sim.command()
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
    from rota.cli.sim.openb import openb

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


@sim.command("run")
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
    from rota.cli.sim import command
    from rota.cli.sim.experiment import Wishes

    wishes = Wishes(
        workload, format, which, whole, cluster, seed, load, interactive, limits, every, estimates
    )
    command.run(wishes, policy, record, report, learnt, output)


@sim.command()
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
    from rota.cli.sim import command
    from rota.cli.sim.experiment import Wishes

    wishes = Wishes(
        workload, format, which, whole, cluster, seed, load, interactive, limits, every, estimates
    )
    command.compare(wishes, policy, report, output)


@app.command()
def replay(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where cycles were recorded (--record).")],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="FILE",
            help="Decide by this policy, and show what would differ. [default: each cycle's own]",
        ),
    ] = None,
    cycle: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Only this cycle, in detail.")
    ] = None,
    output: Output = Form.TABLE,
) -> None:
    """Decide recorded cycles again, and show every plan that differs.

    Exits with 0 if all plans are equal, 2 if one differs, 1 on bad input or a damaged record.
    """
    from rota.cli.replay import command

    outcome = command.replay(folder, policy, cycle, output)
    codes = {command.Outcome.EQUAL: EX_OK, command.Outcome.DIFFERENT: EX_DIFFERENT}
    raise typer.Exit(codes.get(outcome, EX_BAD_INPUT))


@app.command()
def plugins(output: Output = Form.TABLE) -> None:
    """List installed scheduling plugins and their state."""
    from rota.cli import plugins

    plugins.plugins(output)


@app.command()
def version(output: Output = Form.TABLE) -> None:
    """Show the version."""
    if output.is_table:
        write(f"rota {__version__}\n")
    else:
        write_document({"rota": __version__, "python": platform.python_version()}, output)


def _show_version(asked: bool) -> None:
    if asked:
        version(Form.TABLE)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script."""
    _ensure_streams()
    sys.exit(_exit_code(sys.argv[1:] if arguments is None else arguments))


def _ensure_streams() -> None:
    """Whoever closed a stream, as daemons do, is not to get what is meant for it on the other. And
    a character that a terminal can't show is no reason to show nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as the process lives
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        code: int | None = app(arguments or ["--help"], prog_name="rota", standalone_mode=False)
        write("")
        return code or EX_OK
    except typer.TyperException as error:
        context: typer.Context | None = getattr(error, "ctx", None)
        hint = f" See `{context.command_path} --help`." if context else ""
        talk(f"{error.format_message()}{hint}")
        return EX_BAD_INPUT
    except KeyboardInterrupt:
        return EX_INTERRUPTED
    except ReaderLeft:
        _discard_output()
        return EX_BROKEN_PIPE
    except OSError as error:
        _discard_output()
        talk(str(error))
        return EX_IO
    except Exception as error:
        return _told(error)


def _discard_output() -> None:
    """What is still in the buffer could not be written at exit, either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(error: Exception) -> int:
    from rota.intake.errors import InputError

    if isinstance(error, InputError):
        for one in error.all:
            talk(str(one))
        return EX_BAD_INPUT
    if os.environ.get("ROTA_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    else:
        talk(f"this is a bug in Rota: {type(error).__name__}: {error}")
        talk("please report it, with what the same command prints under ROTA_TRACEBACK=1")
    return EX_BUG
