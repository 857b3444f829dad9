"""Changes to the text of a rota.toml, for `rota config`: all that people wrote in it stays as it is."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from rota.settings.settings import Context
from rota.settings.toml_lines import lines_of_keys


def with_current_context(text: str, name: str) -> str:
    """The text with `name` as the context in use. ValueError: the file can't be changed line by line."""
    lines = text.splitlines()
    places = lines_of_keys(text)
    assignment = f"context = {_quoted(name)}"
    if (place := places.get(("client", "context"))) is not None:
        lines[place - 1] = lines[place - 1].partition("context")[0] + assignment
    elif (place := places.get(("client",))) is not None:
        lines.insert(place, assignment)
    else:
        lines += [*([""] if lines else []), "[client]", assignment]
    wanted = tomllib.loads(text)
    wanted.setdefault("client", {})["context"] = name
    return _checked("\n".join(lines) + "\n", wanted)


def with_context(text: str, name: str, context: Context) -> str:
    """The text with one more context. ValueError: there is one of this name."""
    wanted = tomllib.loads(text)
    contexts = wanted.setdefault("client", {}).setdefault("contexts", {})
    if name in contexts:
        raise ValueError(f"there is a context '{name}' already; choose another name")
    fields = {field: getattr(context, field) for field in Context.__struct_fields__}
    contexts[name] = {field: value for field, value in fields.items() if value}
    section = [f"[client.contexts.{_quoted(name)}]"]
    section += [f"{field} = {_quoted(value)}" for field, value in contexts[name].items()]
    lines = [*text.splitlines(), *([""] if text else []), *section]
    return _checked("\n".join(lines) + "\n", wanted)


def _quoted(text: str) -> str:
    """Basic strings of TOML are written as those of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _checked(text: str, wanted: dict[str, Any]) -> str:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        found = None
    if found != wanted:
        raise ValueError("the file is written in a way that can't be changed line by line; change it by hand")
    return text
