"""What a shell starts: the list of all commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from rota.cli.command_list import Listed, list_class
from rota.cli.exits import ensure_streams, exit_code

SECTIONS = {
    "Jobs": (
        Listed("run", "Run a command as a job, follow its output, and exit with its status."),
        Listed("submit", "Submit jobs: a file, an sbatch script, or a command."),
        Listed("ls", "List jobs."),
        Listed("show", "Show all there is to know of a job."),
        Listed("logs", "Show what a job wrote."),
        Listed("cancel", "End jobs, whether they wait or run."),
        Listed("hold", "Keep waiting jobs from starting."),
        Listed("release", "Let held jobs start again."),
        Listed("extend", "Let a running job run longer, or say what is in the way."),
        Listed("why", "Explain one job: verdicts, scores, what would help."),
        Listed("eta", "Say when waiting jobs will start."),
        Listed("plan", "Show what would run where, what waits, and why."),
        Listed("eff", "Compare what a job used with what it asked for."),
        Listed("watch", "Show jobs live, with their progress."),
        Listed("limits", "Show what you may ask for and hold, and how much of it you do."),
    ),
    "Cluster": (
        Listed("top", "Show nodes and queues live."),
        Listed("nodes", "List nodes; cordon, drain or taint them."),
        Listed("queues", "List queues; pause, close or open them."),
        Listed("reserve", "Keep nodes for some people in a period."),
        Listed("maintenance", "Announce periods in which nodes are away."),
        Listed("project", "List projects, and who may do what in them."),
        Listed("secret", "List a project's secrets by name, set or remove them."),
        Listed("token", "List tokens, make new ones, take them back."),
        Listed("events", "Show what happened, and what happens."),
        Listed("audit", "Show who did what, and who was refused what."),
    ),
    "Server": (
        Listed("server", "Run the server."),
        Listed("agent", "Let this machine work for a server elsewhere."),
        Listed("keeper", "Start an agent's jobs as other accounts, as a service of its own."),
        Listed("scheduler", "Run a scheduler that keeps nothing, between controllers and agents."),
        Listed("kube-scheduler", "Schedule pods of a Kubernetes cluster.", "kube_scheduler"),
        Listed("config", "Check settings; choose among several servers."),
        Listed("login", "Sign in to a server, in a browser."),
        Listed("logout", "Sign out: the token is no longer valid."),
    ),
    "Policies and plugins": (
        Listed("sim", "Try policies on recorded workloads, with the engine that decides in earnest."),
        Listed("replay", "Decide recorded cycles again, and show every plan that differs."),
        Listed("plugins", "List installed scheduling plugins and their state."),
        Listed("version", "Show the version."),
    ),
}

app = typer.Typer(
    name="rota",
    help="Decides what runs where and when, and can say why.",
    cls=list_class(SECTIONS),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        from rota.cli.commands.version import version
        from rota.cli.output import Form

        version(Form.TABLE)
        raise typer.Exit


@app.callback()
def _options(
    context: Annotated[
        str | None,
        typer.Option(
            "--context", metavar="NAME", help="Which server: one that `rota config contexts` lists."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script."""
    ensure_streams()
    given = sys.argv[1:] if arguments is None else arguments
    sys.exit(exit_code(lambda: app(given or ["--help"], prog_name="rota", standalone_mode=False)))
