"""The functions that every expression may call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial

from rota.workflows.expressions.errors import ExpressionError, Stage
from rota.workflows.expressions.evaluator import Function, Lazy
from rota.workflows.expressions.parser import Arity
from rota.workflows.expressions.values import (
    ObjectValue,
    Value,
    are_equal,
    fold,
    is_primitive,
    number_text,
    to_string,
    value_of,
)

MOST_BYTES = 10_485_760
"""Of a text that is made, as GitHub counts it: two bytes a character."""
MOST_ARGUMENTS = 255
MOST_JSON_DEPTH = 100


def _failed(message: str) -> ExpressionError:
    return ExpressionError(Stage.EVALUATION, message)


def bounded(text: str) -> str:
    if 2 * len(text) > MOST_BYTES:
        raise _failed(f"The maximum allowed memory size was exceeded: {MOST_BYTES:,} bytes")
    return text


def _contains(arguments: Sequence[Lazy]) -> Value:
    searched, item = arguments[0](), arguments[1]()
    if isinstance(searched, list):
        return any(are_equal(one, item) for one in searched)
    return _on_texts(lambda text, part: part in text, searched, item)


def _on_texts(test: Callable[[str, str], bool], text: Value, part: Value) -> bool:
    if not (is_primitive(text) and is_primitive(part)):
        return False
    return test(fold(to_string(text)), fold(to_string(part)))


def _by_texts(test: Callable[[str, str], bool], arguments: Sequence[Lazy]) -> Value:
    return _on_texts(test, arguments[0](), arguments[1]())


def _join(arguments: Sequence[Lazy]) -> Value:
    items = arguments[0]()
    if isinstance(items, list):
        separator = arguments[1]() if len(arguments) > 1 else ","
        return bounded((to_string(separator) if is_primitive(separator) else "").join(map(to_string, items)))
    return to_string(items) if is_primitive(items) else ""


_FORMAT = re.compile(r"\{\{|\}\}|\{(?P<number>\d+)\}|(?P<wrong>[{}])")


def _format(arguments: Sequence[Lazy]) -> Value:
    template = to_string(arguments[0]())
    made: dict[int, str] = {}
    size = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal size
        if match["wrong"]:
            raise _failed(f"The following format string is invalid: {template}")
        if match["number"] is None:
            return match[0][0]
        number = int(match["number"]) if len(match["number"]) <= len(str(MOST_ARGUMENTS)) else MOST_ARGUMENTS
        if number + 1 >= len(arguments):
            raise _failed(
                "The following format string references more arguments than were supplied: " + template
            )
        if number not in made:
            made[number] = to_string(arguments[number + 1]())
        size += len(made[number])
        if 2 * size > MOST_BYTES:
            bounded(" " * (MOST_BYTES // 2 + 1))
        return made[number]

    return bounded(_FORMAT.sub(replaced, template))


def _case(arguments: Sequence[Lazy]) -> Value:
    for predicate, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        holds = predicate()
        if not isinstance(holds, bool):
            raise _failed("case predicate must evaluate to a boolean value")
        if holds:
            return value()
    return arguments[-1]()


def _to_json(arguments: Sequence[Lazy]) -> Value:
    return bounded("".join(_written(arguments[0](), "\n", 0)))


def _written(value: Value, line: str, depth: int) -> list[str]:
    if depth > MOST_JSON_DEPTH:
        raise _failed(f"toJSON: nested deeper than {MOST_JSON_DEPTH} levels")
    if isinstance(value, ObjectValue):
        items = [[_quoted(key) + ": ", *_written(one, line + "  ", depth + 1)] for key, one in value.items()]
        return _bracketed("{", items, "}", line)
    if isinstance(value, list):
        return _bracketed("[", [_written(one, line + "  ", depth + 1) for one in value], "]", line)
    if isinstance(value, str):
        return [_quoted(value)]
    if isinstance(value, float):
        return [number_text(value)]
    return ["null" if value is None else to_string(value)]


def _bracketed(opening: str, items: list[list[str]], closing: str, line: str) -> list[str]:
    if not items:
        return [opening + closing]
    parts = [opening]
    for number, item in enumerate(items):
        parts += ["," if number else "", line + "  ", *item]
    return [*parts, line + closing]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _from_json(arguments: Sequence[Lazy]) -> Value:
    text = to_string(arguments[0]())
    try:
        return value_of(json.loads(text, parse_int=float, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise _failed(f"Error parsing fromJson: {error}") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _function(call: Callable[[Sequence[Lazy]], Value], least: int, most: int) -> Function:
    return Function(Arity(least, most), call)


FUNCTIONS: dict[str, Function] = {
    "contains": _function(_contains, 2, 2),
    "startsWith": _function(partial(_by_texts, str.startswith), 2, 2),
    "endsWith": _function(partial(_by_texts, str.endswith), 2, 2),
    "format": _function(_format, 1, MOST_ARGUMENTS),
    "join": _function(_join, 1, 2),
    "toJSON": _function(_to_json, 1, 1),
    "fromJSON": _function(_from_json, 1, 1),
    "case": Function(Arity(3, MOST_ARGUMENTS, is_odd=True), _case),
}
