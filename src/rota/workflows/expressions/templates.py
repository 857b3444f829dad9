"""Texts with expressions in them: `Hello ${{ github.actor }}`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rota.workflows.expressions.errors import ExpressionError, Stage
from rota.workflows.expressions.evaluator import Scope
from rota.workflows.expressions.functions import bounded
from rota.workflows.expressions.values import Value, to_string

OPENING = "${{"
CLOSING = "}}"


class Embedded(Struct, frozen=True):
    """An expression in a text."""

    expression: str
    """Between the brackets, without the blanks around it."""
    at: int
    """Where the expression begins in the text, from 0."""


def parts_of(text: str) -> Iterator[str | Embedded]:
    """Texts and expressions in their order. Raises ExpressionError for one that isn't closed."""
    at = 0
    while (opened := text.find(OPENING, at)) >= 0:
        if opened > at:
            yield text[at:opened]
        closed = _closing(text, opened + len(OPENING))
        inside = text[opened + len(OPENING) : closed]
        blanks = len(inside) - len(inside.lstrip())
        yield Embedded(inside.strip(), opened + len(OPENING) + blanks)
        at = closed + len(CLOSING)
    if at < len(text):
        yield text[at:]


def _closing(text: str, at: int) -> int:
    """What stands in quotes closes nothing."""
    is_quoted = False
    while at < len(text):
        if text[at] == "'":
            is_quoted = not is_quoted
        elif not is_quoted and text.startswith(CLOSING, at):
            return at
        at += 1
    raise ExpressionError(
        Stage.LEXING,
        "The expression is not closed. An unescaped ${{ sequence was found, but the closing }} "
        "sequence was not found.",
    )


def has_expressions(text: str) -> bool:
    return OPENING in text


def rendered(text: str, scope: Scope) -> str:
    """Each expression replaced by its value as a text. Raises ExpressionError."""
    return bounded("".join(_texts(text, scope)))


def _texts(text: str, scope: Scope) -> Iterator[str]:
    for part in parts_of(text):
        yield part if isinstance(part, str) else to_string(scope.evaluate(part.expression))


def value_in(text: str, scope: Scope) -> Value:
    """A text that is one expression has its value, whatever its kind; any other is a text."""
    parts = list(parts_of(text))
    if len(parts) == 1 and isinstance(parts[0], Embedded):
        return scope.evaluate(parts[0].expression)
    return rendered(text, scope)


def as_expression(text: str) -> str:
    """The one expression that has the same value as the text."""
    parts = list(parts_of(text))
    if len(parts) == 1 and isinstance(parts[0], Embedded):
        return parts[0].expression
    texts: list[str] = []
    expressions: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part.replace("{", "{{").replace("}", "}}").replace("'", "''"))
        else:
            texts.append(f"{{{len(expressions)}}}")
            expressions.append(part.expression)
    return f"format('{''.join(texts)}'{''.join(f', {one}' for one in expressions)})"
