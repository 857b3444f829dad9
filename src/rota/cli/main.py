"""What a shell starts: the commands and their options, exit codes, and errors as one line each."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from rota import __version__
from rota.cli.output import Form, talk, write_document

EX_OK = 0
EX_BAD_INPUT = 1
EX_WAITING = 2
EX_BUG = 70
"""EX_SOFTWARE of sysexits.h."""
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


@app.command()
def plan(
    cluster: Cluster,
    jobs: Jobs,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
) -> None:
    """Show what would run where, what waits, and why.

    Exits with 0 if all is placed, 2 if something waits, 1 on bad input.
    """
    from rota.cli.plan import command
    from rota.cli.question import Files

    all_placed = command.plan(Files(cluster, jobs, policy, now, max_file_size), output)
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
) -> None:
    """Explain one job: each node's verdict, the scores, and what would help."""
    from rota.cli.question import Files
    from rota.cli.why import command

    command.why(job, Files(cluster, jobs, policy, now, max_file_size), output)


@app.command()
def plugins(output: Output = Form.TABLE) -> None:
    """List the scheduling plugins that are installed, and whether they can be used."""
    from rota.cli import plugins

    plugins.plugins(output)


@app.command()
def version(output: Output = Form.TABLE) -> None:
    """Show the version."""
    if output.is_table:
        print(f"rota {__version__}")
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
    sys.exit(_exit_code(sys.argv[1:] if arguments is None else arguments))


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        code = app(arguments or ["--help"], prog_name="rota", standalone_mode=False)
        sys.stdout.flush()
        return code or EX_OK
    except typer.TyperException as error:
        talk(error.format_message())
        return EX_BAD_INPUT
    except KeyboardInterrupt:
        return EX_INTERRUPTED
    except BrokenPipeError:
        # Whatever is left in the buffer can't be written either, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EX_BROKEN_PIPE
    except Exception as error:
        return _told(error)


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
