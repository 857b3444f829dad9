"""`rota secret`: sets values, and lists names only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from getpass import getpass
from pathlib import Path

import typer

from rota.api.people import SecretDocument
from rota.cli.client.connection import Server, connect
from rota.cli.jobs.jobs_to_send import context_project
from rota.cli.output import ListFormat, talk, talk_of_change
from rota.cli.showing import clock, show_list
from rota.cli.tables import Shown, new_table
from rota.model.ids import DEFAULT_PROJECT
from rota.views.times import ms_of


def secrets(project: str | None, output: ListFormat) -> None:
    with connect() as server:
        project = _project(server, project)
        found = list(server.secrets(project))
    show_list(found, output, lambda one: one.name, _tables)
    if not found and output in (ListFormat.TABLE, ListFormat.WIDE):
        talk(f"project {project} has no secrets; `rota secret set NAME` adds one")


def set_secret(name: str, project: str | None, file: str | None, *, dry_run: bool) -> None:
    value = _value(name, file)
    with connect() as server:
        project = _project(server, project)
        server.set_secret(project, name, value, dry_run=dry_run)
    talk_of_change(f"secret {name} of project {project}", "is set", "be set", dry_run=dry_run)


def remove_secret(name: str, project: str | None, *, dry_run: bool) -> None:
    with connect() as server:
        project = _project(server, project)
        server.remove_secret(project, name, dry_run=dry_run)
    talk_of_change(f"secret {name} of project {project}", "is removed", "be removed", dry_run=dry_run)


def _project(server: Server, given: str | None) -> str:
    """The one that a job would be submitted to."""
    if project := given or context_project():
        return project
    return (server.me().projects or [DEFAULT_PROJECT])[0]


def _value(name: str, file: str | None) -> str:
    """Without the newline at its end, which editors and `echo` add."""
    if file is not None:
        try:
            text = Path(file).read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it isn't text"
            raise typer.BadParameter(f"{file}: {why}", param_hint="--from-file") from None
    elif sys.stdin.isatty():
        text = getpass(f"value of {name} (not shown): ")
    else:
        text = sys.stdin.read()
    value = text.removesuffix("\n")
    if not value:
        raise typer.BadParameter("the value is empty", param_hint="--from-file" if file else "standard input")
    return value


def _tables(some: Sequence[SecretDocument]) -> Iterable[Shown]:
    if some:
        now = clock()
        table = new_table("secret", "project", "set", "by")
        for one in some:
            when = "in the server's settings" if one.set is None else now.distance_text(ms_of(one.set))
            table.add_row(one.name, one.project, when, one.set_by)
        yield table
