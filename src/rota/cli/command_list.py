"""The list of commands. Help and completion need the list alone: a command's module is imported when the
command is called."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer._click import Command, Context, HelpFormatter  # Typer names these nowhere else
from typer._click.exceptions import UsageError
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_command_name, get_group


class Listed(NamedTuple):
    """A command, and the room of rota.cli that has it in its `commands.py`."""

    name: str
    room: str
    help: str


def new_app(**settings: Any) -> typer.Typer:
    """For the commands of a room, and for each of them that has subcommands."""
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
            return _command(one.room, cmd_name)

        def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
            width = max(map(len, listed))
            for title, section in sections.items():
                with formatter.section(title):
                    formatter.write_dl([(f"{one.name:<{width}}", one.help) for one in section])

    return CommandList


@cache
def _command(room: str, name: str) -> Command | None:
    """Without the others of its room: to read the declarations of their options takes as long as to ask a
    server."""
    app: typer.Typer = import_module(f"rota.cli.{room}.commands").app
    for info in app.registered_commands:
        assert info.callback is not None
        if name == (info.name or get_command_name(info.callback.__name__)):
            return get_command_from_info(
                info,
                pretty_exceptions_short=app.pretty_exceptions_short,
                rich_markup_mode=app.rich_markup_mode,
            )
    # One with subcommands.
    return get_group(app).commands.get(name)


class TakesCommandLine(TyperCommand):
    """A command whose users may write another command line after `--`. That part is taken off before
    Typer reads its own options and arguments: it couldn't tell the two apart any more."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND_LINE] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, self._by_known_names(args))

    def _by_known_names(self, args: list[str]) -> list[str]:
        """`--cpu` is `--cpus`, and `--labels` is `--label`."""
        known = {name for option in self.params for name in option.opts if name.startswith("--")}
        written: dict[str, str] = {}
        found: list[str] = []
        for arg in args:
            name, equals, value = arg.partition("=")
            if name.startswith("--"):
                meant = name if name in known else next((one for one in _numbers(name) if one in known), name)
                if written.setdefault(meant, name) != name:
                    raise typer.BadParameter(f"{written[meant]} and {name} are the same option; give one")
                arg = f"{meant}{equals}{value}"
            found.append(arg)
        return found

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


class NeedsCommandLine(TakesCommandLine):
    """One that takes nothing else: words before which `--` was forgotten are recognised."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if "--" not in args and (words := self._words(ctx, args)):
            given = shlex.join(args[: len(args) - len(words)])
            meant = " ".join(filter(None, (ctx.command_path, given, "--", shlex.join(words))))
            raise UsageError(f"A command stands after `--`: write `{meant}`", ctx)
        return super().parse_args(ctx, args)

    def _words(self, ctx: Context, args: list[str]) -> list[str]:
        """From the first on that is neither an option nor the value of one."""
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args, parser.ignore_unknown_options = False, True
        try:
            return parser.parse_args(list(args))[1]
        except UsageError:
            return []


class TakesArguments(TakesCommandLine):
    """One that has a file, and passes on what stands behind it: see `arguments`."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        return super().parse_args(ctx, args)


def _numbers(name: str) -> tuple[str, ...]:
    """Of an option, its singular or plural."""
    if name.endswith("ies"):
        return (f"{name[:-3]}y",)
    return (name[:-1],) if name.endswith("s") else (f"{name}s", f"{name[:-1]}ies")


_COMMAND_LINE = "rota.command_line"


def command_line(ctx: typer.Context) -> tuple[str, ...]:
    """What the user wrote after `--`, for a command that TakesCommandLine."""
    written: tuple[str, ...] = ctx.meta.get(_COMMAND_LINE, ())
    return written


def arguments(ctx: typer.Context) -> tuple[str, ...]:
    """What stands behind the file, and then after `--`, for a command that TakesArguments."""
    return (*ctx.args, *command_line(ctx))
