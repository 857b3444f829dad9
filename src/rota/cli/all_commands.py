"""The list of all commands, as users see it."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import typer
from typer._click import Command  # Typer names it nowhere else
from typer.main import get_command

from rota.cli.command_list import Listed, list_class

SECTIONS = {
    "Jobs": (
        Listed("run", "jobs", "Run a command as a job, follow its output and exit with its status."),
        Listed("submit", "jobs", "Submit jobs from a file, an sbatch script or a command."),
        Listed("ls", "jobs", "List jobs."),
        Listed("show", "jobs", "Show the details of a job."),
        Listed("logs", "jobs", "Show the output of a job."),
        Listed("fetch", "jobs", "Fetch the files that a job has kept."),
        Listed("wait", "jobs", "Wait until jobs are over."),
        Listed("cancel", "jobs", "Cancel jobs that wait or run."),
        Listed("hold", "jobs", "Hold waiting jobs: they don't start until they are released."),
        Listed("release", "jobs", "Release held jobs."),
        Listed("extend", "questions", "Raise the time limit of a running job."),
        Listed("why", "questions", "Explain why a job waits, or why it was placed where it is."),
        Listed("eta", "questions", "Estimate when waiting jobs will start."),
        Listed("plan", "questions", "Show which jobs would start where, which would wait, and why."),
        Listed("eff", "jobs", "Compare the resources that a job used with its request."),
        Listed("watch", "jobs", "Watch the progress of jobs."),
        Listed("limits", "people", "Show your limits and how much of them you use."),
        Listed("quota", "people", "Show quotas and shares of your projects."),
        Listed("usage", "people", "Show the hours of cores and GPUs that jobs used."),
    ),
    "Cluster": (
        Listed("top", "cluster", "Watch nodes and queues."),
        Listed("nodes", "cluster", "List nodes; cordon, drain or taint them."),
        Listed("queues", "cluster", "List queues; pause, close or open them."),
        Listed("reserve", "cluster", "Reserve nodes for projects or users."),
        Listed("maintenance", "cluster", "Announce maintenance of nodes."),
        Listed("project", "people", "Manage projects and their members."),
        Listed("secret", "people", "Manage the secrets of a project."),
        Listed("token", "people", "Manage access tokens."),
        Listed("events", "cluster", "Show the events of jobs, nodes and queues."),
        Listed("audit", "people", "Show the audit log: who did what, and what was refused."),
    ),
    "Server": (
        Listed("server", "services", "Run the server."),
        Listed("agent", "agents", "Run an agent: this machine runs tasks for a server."),
        Listed("keeper", "services", "Run the keeper as its own service, to start tasks as other users."),
        Listed("scheduler", "services", "Run the stateless scheduler between controllers and agents."),
        Listed("kube-scheduler", "services", "Schedule the pods of a Kubernetes cluster."),
        Listed("config", "services", "Check settings; choose the server that commands use."),
        Listed("backup", "services", "Copy the database, policy and settings of a server to a folder."),
        Listed("restore", "services", "Restore a server from a copy."),
        Listed("login", "people", "Sign in to a server with a browser."),
        Listed("logout", "people", "Sign out and revoke the token."),
    ),
    "Workflows": (Listed("expr", "workflows", "Evaluate expressions of GitHub Actions workflows."),),
    "Policies and plugins": (
        Listed("sim", "policies", "Simulate policies on recorded workloads."),
        Listed("replay", "policies", "Repeat recorded scheduling cycles and compare the plans."),
        Listed("plugins", "policies", "List the installed scheduling plugins."),
        Listed("version", "services", "Show the version."),
    ),
}

app = typer.Typer(
    name="rota",
    help="Rota decides which jobs run where and when, and explains why.",
    cls=list_class(SECTIONS),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        from rota.cli.output import OutputFormat
        from rota.cli.services.commands import version

        version(OutputFormat.TABLE)
        raise typer.Exit


@app.callback()
def _options(
    context: Annotated[
        str | None,
        typer.Option(
            "--context", metavar="NAME", help="Server to use, by its name in `rota config contexts`."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    pass


@cache
def command() -> Command:
    """A process that runs many commands, such as a test, reads the declarations of all options once."""
    return get_command(app)
