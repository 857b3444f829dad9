"""The classes of `import rota` and their errors, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import rota
from rota.sdk import errors
from rota.sdk.call import listed, sent
from scripts.site.markdown import MADE, cell, code, paragraphs, table

_MODULES = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
_QUOTED = re.compile(r"(?P<before>: |-> )'(?P<type>[^']+)'")
"""Types are text in modules that import annotations."""
_LONG = 90
_EXAMPLE = re.compile(r"\n\n((?:    .*\n?|\n)+)")


def page() -> str:
    lines = [
        MADE,
        "# Python classes",
        "",
        "[Rota from Python](../sdk.md) says how to use them.",
        "`AsyncClient` has the methods of `Client`, to be awaited.",
        "",
    ]
    for kind in (rota.Client, rota.AsyncClient, rota.Executor):
        lines += _class(kind)
    lines += ["## Errors", "", "All are in `rota.sdk.errors`, and are kinds of `RotaError`.", ""]
    known = (one for one in vars(errors).values() if inspect.isclass(one))
    rows = (
        (code(one.__name__), cell(inspect.getdoc(one) or ""))
        for one in known
        if issubclass(one, errors.RotaError) and one.__module__ == errors.__name__
    )
    lines += table(("error", ""), rows)
    return "\n".join(lines)


def _class(kind: type) -> Iterator[str]:
    yield from (f"## rota.{kind.__name__}", "", *_said(kind))
    yield from ("```python", f"rota.{kind.__name__}{_signature(kind)}", "```", "")
    if kind is rota.AsyncClient:
        return
    for name, method in inspect.getmembers(kind, _is_method):
        if not name.startswith("_"):
            yield from (f"### {kind.__name__}.{name}", "")
            yield from ("```python", f"{name}{_signature(method)}", "```", "")
            yield from _said(method)


def _is_method(thing: object) -> bool:
    return inspect.isfunction(thing) or isinstance(thing, sent | listed)


def _said(thing: object) -> Iterator[str]:
    """Its docstring; what is indented there is an example."""
    text = inspect.getdoc(thing) or ""
    for number, part in enumerate(_EXAMPLE.split(text)):
        if number % 2:
            yield from ("```python", inspect.cleandoc(part), "```", "")
        else:
            yield from paragraphs(part)


def _signature(thing: Any) -> str:
    """Without `self`, and types by their own names; a long one with a line for each parameter."""
    signature = _declared(thing) if isinstance(thing, sent | listed) else inspect.signature(thing)
    shown = [one for one in signature.parameters.values() if one.name != "self"]
    text = _plain(str(signature.replace(parameters=shown)))
    if len(text) <= _LONG:
        return text
    answer = _plain(str(inspect.Signature(return_annotation=signature.return_annotation))).removeprefix("()")
    return "\n".join(["(", *(f"    {line}," for line in _lines(shown)), f"){answer}"])


def _declared(call: sent[..., Any] | listed[..., Any]) -> inspect.Signature:
    """As a client has it: what is declared returns a call, the client's method its answer."""
    signature = inspect.signature(call.make)
    answer = str(signature.return_annotation).removeprefix("Call[").removesuffix("]")
    if isinstance(call, listed):
        answer = f"Iterator[{answer.removeprefix('Page[').removesuffix(']')}]"
    return signature.replace(return_annotation=answer)


def _lines(parameters: list[inspect.Parameter]) -> Iterator[str]:
    was_positional = True
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            was_positional = False
        elif one.kind is one.KEYWORD_ONLY and was_positional:
            yield "*"
            was_positional = False
        yield _plain(str(one))


def _plain(text: str) -> str:
    return _MODULES.sub("", _QUOTED.sub(r"\g<before>\g<type>", text))
