"""A job in the form of a job file, out of a command and options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import typer

from rota.cli.job_options import Wishes
from rota.cli.option_values import pairs_of

_OPTIONS = {
    "name": "--name",
    "resources.cpu": "--cpus",
    "resources.memory": "--memory",
    "gpus": "--gpus",
    "tasks": "--tasks",
    "time_limit": "--time",
    "queue": "--queue",
    "project": "--project",
    "priority": "--priority",
    "directory": "--dir",
    "environment": "--env",
    "secrets": "--secret",
    "files": "--file",
    "labels": "--label",
    "depends_on": "--after",
    "array": "--array",
    "retry": "--retries",
    "command": "COMMAND",
}
_ADDED_TO = ("depends_on", "files")


def form_of(wishes: Wishes, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, object]:
    """Only what was given. `environment` is that of this process, for variables without a value."""
    resources = {"cpu": wishes.cpus, "memory": wishes.memory}
    form: dict[str, object] = {
        "name": wishes.name,
        "command": list(command),
        "resources": {name: amount for name, amount in resources.items() if amount is not None},
        "gpus": wishes.gpus,
        "tasks": wishes.tasks,
        "time_limit": wishes.time,
        "queue": wishes.queue,
        "project": wishes.project,
        "priority": _number_or_name(wishes.priority),
        "directory": wishes.directory,
        "environment": _environment(wishes.env, environment),
        "secrets": dict(_secret(text) for text in wishes.secrets),
        "files": [_file(text) for text in wishes.files],
        "labels": dict(pairs_of("--label", wishes.labels)),
        "depends_on": [_dependency(text) for text in wishes.after],
        "array": _number_or_name(wishes.array),
        "retry": wishes.retries,
        "hold": wishes.hold or None,
    }
    return {field: value for field, value in form.items() if value not in (None, {}, [])}


def merged(job: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """A job of a file with what was given on the command line, which goes first. Mappings are merged."""
    result = dict(job)
    for field, value in given.items():
        there = result.get(field)
        if isinstance(there, dict) and isinstance(value, dict):
            result[field] = {**there, **value}
        elif isinstance(there, list) and isinstance(value, list) and field in _ADDED_TO:
            result[field] = [*there, *value]
        else:
            result[field] = value
    return result


def option_of(field: str) -> str | None:
    """The option that a field of the only job of a submission comes from: `jobs[0].resources.cpu`."""
    path = field.removeprefix("jobs[0].")
    known = (
        option
        for name, option in _OPTIONS.items()
        if path == name or path.startswith((f"{name}.", f"{name}["))
    )
    return next(known, None)


def _number_or_name(text: str | None) -> int | str | None:
    if text is None:
        return None
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 12 else text


def _environment(given: Sequence[str], ours: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name:
            raise typer.BadParameter(f'"{text}" has no name; write NAME=VALUE', param_hint="--env")
        if not equals and name not in ours:
            raise typer.BadParameter(f"{name} isn't set here; write {name}=VALUE", param_hint="--env")
        found[name] = value if equals else ours[name]
    return found


def _secret(text: str) -> tuple[str, str]:
    """`VARIABLE=NAME`, or `VARIABLE` for the secret of the same name."""
    variable, _, name = text.partition("=")
    return variable, name or variable


def _file(text: str) -> dict[str, object]:
    """`LOCAL` or `LOCAL:REMOTE`."""
    local, _, remote = text.partition(":")
    name = remote or os.path.basename(local)
    if not name:
        raise typer.BadParameter(f'"{text}" names no file', param_hint="--file")
    return {"path": name, "from": local, "executable": os.access(local, os.X_OK)}


def _dependency(text: str) -> dict[str, str]:
    job, _, after = text.partition(":")
    if after not in ("", "success", "failure", "any"):
        raise typer.BadParameter(
            f'"{after}" is not a way to end; write {job}, {job}:failure or {job}:any', param_hint="--after"
        )
    return {"job": job, "after": after or "success"}
