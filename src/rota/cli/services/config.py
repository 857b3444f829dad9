"""`rota config`: settings and their origins, and names of servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from tempfile import NamedTemporaryFile

import typer
from msgspec import Struct

from rota.cli.exits import EX_BAD_INPUT, EX_OK
from rota.cli.output import ListFormat, OutputFormat, show, talk, write_document
from rota.cli.showing import show_list
from rota.cli.tables import GOOD, QUIET, Shown, new_table
from rota.cli.text import Text
from rota.settings.edit import with_context, with_current_context
from rota.settings.load import DEFAULT, load_settings, resolve_settings
from rota.settings.paths import default_files, user_file
from rota.settings.settings import Context


class ContextEntry(Struct, frozen=True):
    name: str
    url: str
    project: str
    in_use: bool


def check(files: Sequence[str] | None, output: OutputFormat) -> int:
    """The exit code. What `rota server` would refuse is told after the settings."""
    resolved = resolve_settings(files or default_files(os.environ), os.environ, {})
    rows = resolved.rows()
    if not output.is_table:
        write_document(rows, output)
    else:
        table = new_table("setting", "value", "from")
        for one in rows:
            is_default = one.origin == DEFAULT
            table.add_row(one.key, _value(one.value), Text(one.origin, style=QUIET if is_default else GOOD))
        show([table])
    from rota.server.service.preflight import preflight

    findings = preflight(resolved.settings)
    for finding in findings:
        talk(f"{'warning: ' if finding.is_warning else ''}{finding.text}")
    return EX_OK if all(finding.is_warning for finding in findings) else EX_BAD_INPUT


def contexts(output: ListFormat) -> None:
    client = load_settings(default_files(os.environ), os.environ, {}).client
    entries = [
        ContextEntry(name, context.url, context.project, name == client.context)
        for name, context in client.contexts.items()
    ]
    show_list(entries, output, lambda one: one.name, _context_tables)
    if not entries and output in (ListFormat.TABLE, ListFormat.WIDE):
        talk("no server is configured; `rota config add` adds one")


def use(name: str) -> None:
    known = load_settings(default_files(os.environ), os.environ, {}).client.contexts
    if name not in known:
        meant = get_close_matches(name, known, n=1)
        remedy = f'did you mean "{meant[0]}"?' if meant else "`rota config contexts` lists them"
        raise typer.BadParameter(f'there is no server named "{name}"; {remedy}', param_hint="NAME")
    change_file(lambda text: with_current_context(text, name))
    talk(f"commands use {name} ({known[name].url}) from now on")


def add(name: str, url: str, token_file: str, ca_file: str, project: str) -> None:
    context = Context(
        url=url,
        token_file=os.path.abspath(token_file),
        ca_file=os.path.abspath(ca_file) if ca_file else "",
        project=project,
    )
    change_file(lambda text: with_context(text, name, context))
    talk(f"added {name} ({url}); `rota config use {name}` makes commands use it")


def change_file(change: Callable[[str], str]) -> None:
    """Replaces the user's settings file, as a whole and only if the new one is valid."""
    path = user_file(os.environ)
    try:
        with open(path) as file:
            before = file.read()
    except FileNotFoundError:
        before = ""
    try:
        after = change(before)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=path) from None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with NamedTemporaryFile("w", dir=os.path.dirname(path), suffix=".toml", delete=False) as file:
        try:
            file.write(after)
            file.flush()
            load_settings([file.name], {}, {})
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _context_tables(some: Sequence[ContextEntry]) -> Iterable[Shown]:
    if some:
        table = new_table("name", "server", "project", "")
        for one in some:
            table.add_row(one.name, one.url, one.project, Text("in use", style=GOOD) if one.in_use else "")
        yield table


def _value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
