"""Every command with its arguments and options, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

from typer._click import Command, Context  # Typer names these nowhere else
from typer.core import TyperArgument, TyperGroup
from typer.main import get_command

from rota.cli.all_commands import SECTIONS, app
from scripts.site.markdown import MADE, cell, code, paragraphs, table


def page() -> str:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    ctx = Context(group, info_name="rota")
    lines = [
        MADE,
        "# Commands",
        "",
        "All commands and options, as `--help` shows them. [The command line](../cli.md) says how they",
        "work together, and lists the exit codes.",
        "",
        "These options come before the command:",
        "",
        *_parameters(group, ctx),
    ]
    for title, listed in SECTIONS.items():
        lines += [f"## {title}", ""]
        for one in listed:
            command = group.get_command(ctx, one.name)
            assert command is not None
            lines += _described(command, one.name, ctx, level=3)
    return "\n".join(lines)


def _described(command: Command, name: str, parent: Context, level: int) -> Iterator[str]:
    ctx = Context(command, info_name=name, parent=parent)
    yield from (f"{'#' * level} {ctx.command_path}", "", *paragraphs(command.help or ""))
    yield from ("```text", command.get_usage(ctx).removeprefix("Usage: "), "```", "")
    yield from _parameters(command, ctx)
    if isinstance(command, TyperGroup):
        for sub in command.list_commands(ctx):
            found = command.get_command(ctx, sub)
            assert found is not None
            yield from _described(found, sub, ctx, level + 1)


def _parameters(command: Command, ctx: Context) -> Iterator[str]:
    arguments: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and "--help" not in parameter.opts:
            kind = arguments if isinstance(parameter, TyperArgument) else options
            kind.append((code(record[0]), cell(record[1])))
    yield from table(("argument", ""), arguments)
    yield from table(("option", ""), options)
