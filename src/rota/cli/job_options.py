"""A job in options, for all commands that take one.

Each option is declared once, as a field of `JobOptions`: its help for users, and the field of a job file that
it fills. Everything else is derived from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_type_hints

from rota.cli import job_values as read
from rota.cli.completion import queue_names
from rota.cli.later import typer


class Fills(NamedTuple):
    """The field of a job file that an option fills, as in `resources.cpu`; empty: none."""

    field: str
    value: Callable[[Any, Mapping[str, str]], object] = read.as_given
    """Makes the value of the field from the value of the option and the environment of this process."""


Many = list[str] | None


class JobOptions(NamedTuple):
    """Values as the user wrote them; None: the option wasn't given. Amounts are parsed with the job."""

    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the job."), Fills("name")] = None
    cpus: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Cores for each task, as in 4 or 0.5."),
        Fills("resources.cpu"),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory for each task, as in 16Gi."),
        Fills("resources.memory"),
    ] = None
    gpus: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="GPUs for each task, or a share of one, as in 0.5."),
        Fills("gpus"),
    ] = None
    tasks: Annotated[
        int | None, typer.Option(min=1, help="Number of tasks, which start together."), Fills("tasks")
    ] = None
    time: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Time limit of the job, as in 90m or 2h30m."),
        Fills("time_limit"),
    ] = None
    queue: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Queue the job waits in.", autocompletion=queue_names),
        Fills("queue"),
    ] = None
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Project the job belongs to."), Fills("project")
    ] = None
    priority: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Priority: critical, high, medium, low, batch, or a number."),
        Fills("priority", read.number_or_name),
    ] = None
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="Image of the container the job runs in, as in python:3.12. It runs in a new folder there,"
            " without the environment variables of this shell.",
        ),
        Fills("image"),
    ] = None
    directory: Annotated[
        str | None,
        typer.Option(
            "--dir",
            metavar="DIR",
            help="Folder the job runs in. A path that begins with / is one of the nodes."
            " [default: this folder, on a node that has it; for a job file, a new folder for each task]",
            show_default=False,
        ),
        Fills("directory", read.folder),
    ] = None
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="Run the command in a new, empty folder, without the environment variables of this shell.",
        ),
        Fills(""),
    ] = False
    env_from: Annotated[
        Many,
        typer.Option(metavar="FILE", help="File with environment variables: lines like NAME=VALUE."),
        Fills("environment", read.environment_files),
    ] = None
    env: Annotated[
        Many,
        typer.Option(
            metavar="NAME[=VALUE]", help="Environment variable. Without a value, the value it has here."
        ),
        Fills("environment", read.environment),
    ] = None
    secret: Annotated[
        Many,
        typer.Option(metavar="VARIABLE[=NAME]", help="Environment variable that holds a project's secret."),
        Fills("secrets", read.secrets),
    ] = None
    git: Annotated[
        bool,
        typer.Option(
            "--git",
            help="Copy the Git checkout that you stand in, as it is, without what it ignores. The job runs"
            " at its top.",
        ),
        Fills("files", read.checkout),
    ] = False
    git_ref: Annotated[
        str | None,
        typer.Option(
            "--git-ref",
            metavar="REF",
            help="Copy that commit, branch or tag of the checkout, not what lies there now.",
        ),
        Fills("files", read.commit),
    ] = None
    take: Annotated[
        Many,
        typer.Option(
            "--file",
            metavar="LOCAL[:REMOTE]",
            help="File, or folder with all that is in it, to copy into the folder of each task.",
        ),
        Fills("files", read.files),
    ] = None
    keep: Annotated[
        Many,
        typer.Option(
            "--keep",
            metavar="PATTERN",
            help="Keep these files when a task ends, as in 'out/**': `rota fetch` fetches them.",
        ),
        Fills("outputs"),
    ] = None
    label: Annotated[
        Many, typer.Option(metavar="KEY=VALUE", help="Label of the job."), Fills("labels", read.labels)
    ] = None
    after: Annotated[
        Many,
        typer.Option(
            metavar="JOB[:failure|any]",
            help="Start after that job, by id or name, has succeeded, or has failed, or has ended.",
        ),
        Fills("depends_on", read.dependencies),
    ] = None
    array: Annotated[
        str | None,
        typer.Option(
            metavar="INDEXES",
            help="Array: a job for each index, as in 0-9, 1-100:10 or 20; 0-99%4 runs four at once.",
        ),
        Fills("array", read.number_or_name),
    ] = None
    retries: Annotated[
        int | None, typer.Option(min=0, help="How often to retry a job that fails."), Fills("retry")
    ] = None
    hold: Annotated[
        bool, typer.Option("--hold", help="Don't start the job until it is released."), Fills("hold")
    ] = False
    wait_for_nodes: Annotated[
        bool,
        typer.Option(
            "--wait-for-nodes",
            help="If no node could ever run the job, keep it waiting for one, instead of refusing it.",
        ),
        Fills("wait_for_nodes"),
    ] = False


NO_OPTIONS = JobOptions()


def job_of(options: JobOptions, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, object]:
    """The job as in a job file, with only the fields that the user gave."""
    job: dict[str, object] = {"command": list(command)} if command else {}
    if options == NO_OPTIONS:
        return job
    for name, _, fills in _options():
        given = getattr(options, name)
        if given is None or given is False or given == [] or not fills.field:
            continue
        outer, _, inner = fills.field.partition(".")
        value = fills.value(given, environment)
        there = job.get(outer)
        if not inner:
            job[outer] = _both(there, value)
        else:
            nested = job.setdefault(outer, {})
            assert isinstance(nested, dict)
            nested[inner] = value
    return job


def _both(there: object, value: object) -> object:
    """Two options can fill one field; in a mapping, the later one goes first."""
    if isinstance(there, dict) and isinstance(value, dict):
        return {**there, **value}
    if isinstance(there, list) and isinstance(value, list):
        return [*there, *value]
    return value


def option_of(field: str) -> str | None:
    """The option that a field of the only job of a submission comes from: `jobs[0].resources.cpu`."""
    path = field.removeprefix("jobs[0].")
    options = {fills.field: option for _, option, fills in _options() if fills.field}
    options["command"] = "COMMAND"
    known = (
        option
        for name, option in options.items()
        if path == name or path.startswith((f"{name}.", f"{name}["))
    )
    return next(known, None)


def _options() -> Iterator[tuple[str, str, Fills]]:
    """Each option: the name of its field, its name for users, and what it fills."""
    for name, hint in get_type_hints(JobOptions, include_extras=True).items():
        shown, fills = hint.__metadata__
        # In an annotation, typer takes the first name of an option for its default.
        names = (one for one in (shown.default, f"--{name.replace('_', '-')}") if isinstance(one, str))
        yield name, next(names), fills
