"""Every setting with its variable, its default and what it means, from the structs of `rota.settings`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import msgspec
from msgspec.inspect import StructType, type_info

from rota.settings import settings
from rota.settings.load import resolve_settings
from scripts.site.markdown import MADE, cell, code, table


def page() -> str:
    defaults = {row.key: row.value for row in resolve_settings([], {"HOME": "/home/you"}, {}).rows()}
    meanings = dict(_meanings(settings.Settings, ()))
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    for key, value in defaults.items():
        variable = "ROTA_" + key.replace(".", "_").upper()
        row = (code(key), code(variable), code(str(value)), cell(meanings.get(key, "")))
        sections.setdefault(key.partition(".")[0], []).append(row)
    lines = [
        MADE,
        "# All settings",
        "",
        "Every key of `rota.toml`, with its variable and its default, as `rota config check` shows them.",
        "[Settings](../settings.md) says where they are read from, and more about each.",
        "",
    ]
    for name, rows in sections.items():
        lines += [f"## {name}", "", *table(("key", "variable", "default", "meaning"), rows)]
    return "\n".join(lines)


def _meanings(section: type[msgspec.Struct], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What stands below each field in the code: Python itself doesn't keep it."""
    said = _strings_below(section)
    info = type_info(section)
    assert isinstance(info, StructType)
    for field in info.fields:
        here = (*path, field.encode_name)
        if isinstance(field.type, StructType):
            yield from _meanings(field.type.cls, here)
        elif field.name in said:
            yield ".".join(here), said[field.name]


def _strings_below(section: type[msgspec.Struct]) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in reversed(section.__mro__):
        if not issubclass(kind, settings.Section):
            continue
        body = ast.parse(inspect.getsource(kind)).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            match field, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(said))),
                ):
                    found[name] = said
    return found
