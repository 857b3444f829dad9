"""Commands that are imported when they are asked for: help and completion know them by the list alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer._click import Command, Context, HelpFormatter  # Typer names these nowhere else
from typer._click.globals import get_current_context
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class Listed(NamedTuple):
    """`module` of rota.cli.commands has the command as its `app`."""

    name: str
    help: str
    module: str = ""


def new_app(**settings: Any) -> typer.Typer:
    """What a module of rota.cli.commands puts its command on, or its commands."""
    return typer.Typer(
        rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, **settings
    )


def list_class(sections: Mapping[str, Sequence[Listed]]) -> type[TyperGroup]:
    """For `Typer(cls=…)`: a group of these commands, whose help has a section for each key."""
    listed = {one.name: one for section in sections.values() for one in section}

    class CommandList(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = {name: TyperCommand(name, help=one.help) for name, one in listed.items()}

        def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
            one = listed.get(cmd_name)
            if one is None:
                return None
            module = import_module(f"rota.cli.commands.{one.module or one.name}")
            return get_command(module.app)

        def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
            width = max(map(len, listed))
            for title, section in sections.items():
                with formatter.section(title):
                    formatter.write_dl([(f"{one.name:<{width}}", one.help) for one in section])

    return CommandList


class TakesCommandLine(TyperCommand):
    """What stands after `--` is somebody else's command line: none of it is an option or a file here,
    though Typer would no longer tell it from what stands before."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND_LINE] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


_COMMAND_LINE = "rota.command_line"


def command_line(ctx: typer.Context) -> tuple[str, ...]:
    """Of a command that TakesCommandLine."""
    given: tuple[str, ...] = ctx.meta.get(_COMMAND_LINE, ())
    return given


def chosen_context() -> str | None:
    """The server that `rota --context NAME …` names."""
    ctx = get_current_context(silent=True)
    name: str | None = ctx.find_root().params.get("context") if ctx else None
    return name
