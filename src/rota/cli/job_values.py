"""Values of a job file, made of what was given in options. Errors name the option."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from rota.cli.later import typer
from rota.cli.pairs import pairs_of

Environment = Mapping[str, str]
"""Of this process: for variables that are given without a value."""


def as_given(value: object, _: Environment) -> object:
    return value


def number_or_name(text: str, _: Environment) -> int | str:
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 12 else text


def environment(given: Sequence[str], ours: Environment) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name:
            raise typer.BadParameter(f'"{text}" has no name; write NAME=VALUE', param_hint="--env")
        if not equals and name not in ours:
            raise typer.BadParameter(f"{name} isn't set here; write {name}=VALUE", param_hint="--env")
        found[name] = value if equals else ours[name]
    return found


def environment_files(given: Sequence[str], _: Environment) -> dict[str, str]:
    """As systemd, Docker and others have them. A variable of a later file replaces one of an earlier file."""
    found: dict[str, str] = {}
    for path in given:
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it isn't text"
            raise typer.BadParameter(f"{path} can't be read: {why}", param_hint="--env-from") from None
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if not equals or not name.strip():
                raise typer.BadParameter(
                    f"{path}:{number}: {line.strip()!r} is no variable; write NAME=VALUE",
                    param_hint="--env-from",
                )
            found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def folder(text: str, _: Environment) -> str:
    """One that doesn't begin with / is found from here on."""
    return os.path.abspath(text) if text else text


def secrets(given: Sequence[str], _: Environment) -> dict[str, str]:
    return dict(_secret(text) for text in given)


def files(given: Sequence[str], _: Environment) -> list[dict[str, object]]:
    return [_file(text) for text in given]


def labels(given: Sequence[str], _: Environment) -> dict[str, str]:
    return dict(pairs_of("--label", given))


def dependencies(given: Sequence[str], _: Environment) -> list[dict[str, str]]:
    return [_dependency(text) for text in given]


def _secret(text: str) -> tuple[str, str]:
    """`VARIABLE=NAME`, or `VARIABLE` for the secret of the same name."""
    variable, _, name = text.partition("=")
    return variable, name or variable


def _file(text: str) -> dict[str, object]:
    """`LOCAL`, `LOCAL:REMOTE` or `LOCAL=REMOTE`. A folder goes along as an archive."""
    local, remote = _local_and_remote(text)
    name = remote or os.path.basename(local.rstrip("/")) or local
    if not name:
        raise typer.BadParameter(f'"{text}" names no file', param_hint="--file")
    if os.path.isdir(os.path.expanduser(local)):
        from rota.cli import archives  # most commands need none

        return _unpacked(remote or _name_of_folder(local), archives.of_folder(os.path.expanduser(local)))
    return {"path": name, "from": local, "executable": os.access(local, os.X_OK)}


def _local_and_remote(text: str) -> tuple[str, str]:
    if os.path.lexists(os.path.expanduser(text)):
        return text, ""
    mark = ":" if ":" in text else "="
    local, _, remote = text.partition(mark)
    return local, remote


def _name_of_folder(local: str) -> str:
    """As cp has it: `src` and `../src/` are `src`, and `.` is what lies here."""
    name = os.path.basename(os.path.normpath(local))
    return "." if name in ("", "..") else name


def _unpacked(path: str, archive: str) -> dict[str, object]:
    return {"path": path, "from": archive, "unpack": True}


def checkout(_: bool, __: Environment) -> list[dict[str, object]]:
    from rota.cli import archives

    return [_unpacked(".", archives.of_checkout(os.getcwd()))]


def commit(ref: str, _: Environment) -> list[dict[str, object]]:
    from rota.cli import archives

    return [_unpacked(".", archives.of_commit(os.getcwd(), ref))]


def _dependency(text: str) -> dict[str, str]:
    job, _, after = text.partition(":")
    if after not in ("", "success", "failure", "any"):
        raise typer.BadParameter(
            f'"{after}" is not a way to end; write {job}, {job}:failure or {job}:any', param_hint="--after"
        )
    return {"job": job, "after": after or "success"}
