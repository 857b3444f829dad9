"""`rota expr`: expressions with contexts from a file, one at a time or many by lines of JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import typer

from rota.cli.output import write
from rota.workflows.expressions.errors import ExpressionError, Stage
from rota.workflows.expressions.evaluator import Scope
from rota.workflows.expressions.functions import FUNCTIONS
from rota.workflows.expressions.templates import rendered
from rota.workflows.expressions.values import Value, kind_of, plain_of, value_of
from rota.workflows.hash_files import hash_files_in
from rota.workflows.status import Status
from rota.workflows.status_functions import status_functions

Asked: TypeAlias = Literal["expr", "template"]

_NOT_FINITE = "$num"
_FIELDS = ("contexts", "status", "workspace")


def evaluate(
    asked: Asked,
    text: str | None,
    contexts: str | None,
    status: Status,
    workspace: str | None,
    *,
    batch: bool,
) -> bool:
    """Prints the answers; whether the only one was no error."""
    if batch:
        if text is not None:
            raise typer.BadParameter("--batch reads from standard input: leave the argument out")
        for line in sys.stdin.buffer:
            if line.strip():
                write(_json(_answer_to_line(asked, line, status)))
        return True
    if text is None:
        raise typer.BadParameter(f"give {'an expression' if asked == 'expr' else 'a text'}, or --batch")
    values = {} if contexts is None else _contexts(_loaded(contexts), contexts)
    answer = _answer(asked, text, values, status, workspace)
    write(_json(answer))
    return "error" not in answer


def _loaded(file: str) -> object:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return json.loads(content)
    except OSError as error:
        raise typer.BadParameter(f"--contexts: {file} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"--contexts: {file} is no JSON: {error}") from None


def _contexts(plain: object, where: str) -> dict[str, Value]:
    if not isinstance(plain, Mapping):
        raise typer.BadParameter(f"{where}: contexts are an object of objects, by their names")
    return {name: value_of(_numbers(one)) for name, one in plain.items()}


def _answer_to_line(asked: Asked, line: bytes, status: Status) -> dict[str, object]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _error(Stage.LEXING, f"the line is no JSON: {error}")
    if not isinstance(document, Mapping) or not isinstance(document.get(asked), str):
        return _error(Stage.LEXING, f'the line is to be an object with "{asked}", a text')
    if unknown := [key for key in document if key not in (asked, *_FIELDS)]:
        return _error(Stage.LEXING, f'"{unknown[0]}" is unknown; known are {asked}, {", ".join(_FIELDS)}')
    if not isinstance(document.get("contexts") or {}, Mapping):
        return _error(Stage.LEXING, '"contexts" is to be an object')
    if document.get("status") is not None and document["status"] not in {one.value for one in Status}:
        return _error(Stage.LEXING, '"status" is to be success, failure or cancelled')
    values = _contexts(document.get("contexts") or {}, "contexts")
    stated = document.get("status")
    return _answer(
        asked, document[asked], values, Status(stated) if stated else status, document.get("workspace")
    )


def _answer(
    asked: Asked, text: str, contexts: Mapping[str, Value], status: Status, workspace: str | None
) -> dict[str, object]:
    functions = FUNCTIONS | status_functions(status)
    functions["hashFiles"] = hash_files_in(Path(workspace or "."))
    scope = Scope(contexts, functions)
    try:
        value = scope.evaluate(text) if asked == "expr" else rendered(text, scope)
    except ExpressionError as error:
        return _error(error.stage, error.message)
    return {"kind": kind_of(value).value, "value": _finite(plain_of(value))}


def _error(stage: Stage, message: str) -> dict[str, object]:
    return {"error": {"stage": stage.value, "message": message}}


def _numbers(plain: object) -> object:
    """Numbers that JSON doesn't have are written as {"$num": "NaN"}."""
    if isinstance(plain, dict):
        if list(plain) == [_NOT_FINITE]:
            return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(plain[_NOT_FINITE])
        return {key: _numbers(one) for key, one in plain.items()}
    return [_numbers(one) for one in plain] if isinstance(plain, list) else plain


def _finite(plain: object) -> object:
    if isinstance(plain, float):
        if math.isnan(plain):
            return {_NOT_FINITE: "NaN"}
        if math.isinf(plain):
            return {_NOT_FINITE: "Infinity" if plain > 0 else "-Infinity"}
        return int(plain) if plain.is_integer() and abs(plain) < 2**53 else plain
    if isinstance(plain, dict):
        return {key: _finite(one) for key, one in plain.items()}
    return [_finite(one) for one in plain] if isinstance(plain, list) else plain


def _json(answer: Mapping[str, object]) -> str:
    return json.dumps(answer, ensure_ascii=False) + "\n"
