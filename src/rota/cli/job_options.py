"""What one can say of a job in options: the same for all commands that take a job that way."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from rota.cli.completion import queue_names


class Wishes(NamedTuple):
    """As given; None: not given. Amounts are read where the job is."""

    name: str | None = None
    cpus: str | None = None
    memory: str | None = None
    gpus: str | None = None
    tasks: int | None = None
    time: str | None = None
    queue: str | None = None
    project: str | None = None
    priority: str | None = None
    directory: str | None = None
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    array: str | None = None
    retries: int | None = None
    hold: bool = False


def _wishes(
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call it.")] = None,
    cpus: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Cores for each task, as in 4 or 0.5.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory for each task, as in 16Gi.")
    ] = None,
    gpus: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="GPUs for each task, or a share of one, as in 0.5.")
    ] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks that start together.")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Its time limit, as in 90m or 2h30m.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where it waits.", autocompletion=queue_names)
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Whose it is.")] = None,
    priority: Annotated[
        str | None, typer.Option(metavar="NAME", help="critical, high, medium, low, batch, or a number.")
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--dir", metavar="DIR", help="Where it runs. [default: in a folder of its own]"),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=VALUE]", help="An environment variable; without a value, the one here."),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(metavar="VARIABLE[=NAME]", help="A secret of the project, by its name, as a variable."),
    ] = None,
    take: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="LOCAL[:REMOTE]", help="A file to take along into the task's folder."),
    ] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A label.")] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOB[:failure|any]", help="Start once that job has succeeded; or failed; or ended anyhow."
        ),
    ] = None,
    array: Annotated[
        str | None, typer.Option(metavar="INDEXES", help="A job for each index, as in 0-9, 1-100:10 or 20.")
    ] = None,
    retries: Annotated[int | None, typer.Option(min=0, help="How often to try again if it fails.")] = None,
    hold: Annotated[bool, typer.Option("--hold", help="Wait until it is released.")] = False,
) -> Wishes:
    return Wishes(
        name, cpus, memory, gpus, tasks, time, queue, project, priority, directory,
        tuple(env or ()), tuple(secret or ()), tuple(take or ()), tuple(label or ()), tuple(after or ()),
        array, retries, hold,
    )  # fmt: skip


def takes_wishes(command: Callable[..., None]) -> Callable[..., None]:
    """The command gets `wishes`; its users see an option for each of them."""
    own = inspect.signature(command, eval_str=True)
    options = inspect.signature(_wishes, eval_str=True).parameters

    def with_wishes(**given: Any) -> None:
        wishes = _wishes(**{name: given.pop(name) for name in options})
        command(wishes=wishes, **given)

    parameters = [one for one in own.parameters.values() if one.name != "wishes"]
    required = [one for one in parameters if one.default is one.empty]
    optional = [one for one in parameters if one.default is not one.empty]
    with_wishes.__signature__ = own.replace(parameters=[*required, *options.values(), *optional])  # type: ignore[attr-defined]
    with_wishes.__name__ = command.__name__
    with_wishes.__doc__ = command.__doc__
    with_wishes.__annotations__ = {}
    return with_wishes
