"""An expression cut into tokens.

What `.` and a word mean depends on their neighbours: `.5` is a number, `a.b` a property, a word before `(`
a function.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from rota.workflows.expressions.errors import Stage, unexpected_symbol
from rota.workflows.expressions.values import Value, parse_number

_BOUNDARIES = frozenset("([)],.!<>=&|")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")
_LITERALS: dict[str, Value] = {
    "null": None,
    "true": True,
    "false": False,
    "NaN": math.nan,
    "Infinity": math.inf,
}
_OPERATORS = ("!=", "<=", ">=", "==", "&&", "||", "!", "<", ">")


class TokenKind(Enum):
    LITERAL = "literal"
    NAMED_VALUE = "named value"
    FUNCTION = "function"
    PROPERTY = "property"
    OPERATOR = "operator"
    PUNCTUATION = "punctuation"


class Token(Struct, frozen=True):
    kind: TokenKind
    text: str
    """As it was written."""
    position: int
    """From 1."""
    value: Value = None
    """Of a literal."""


def tokens_of(expression: str) -> Iterator[Token]:
    at = 0
    before: Token | None = None
    while True:
        while at < len(expression) and expression[at].isspace():
            at += 1
        if at == len(expression):
            return
        before = _token(expression, at, before)
        yield before
        at += len(before.text)


def _token(expression: str, at: int, before: Token | None) -> Token:
    letter = expression[at]
    if letter in "()[],*":
        return Token(TokenKind.PUNCTUATION, letter, at + 1)
    if letter == "'":
        return _string(expression, at)
    if letter in "!<>=&|":
        for operator in _OPERATORS:
            if expression.startswith(operator, at):
                return Token(TokenKind.OPERATOR, operator, at + 1)
        raise unexpected_symbol(Stage.LEXING, _word(expression, at), at + 1, expression)
    if letter == "." and _is_operand(before):
        return Token(TokenKind.PUNCTUATION, ".", at + 1)
    if letter in ".+-" or (letter.isascii() and letter.isdigit()):
        return _number(expression, at)
    return _name(expression, at, before)


def _is_operand(token: Token | None) -> bool:
    """Whether a property of it can follow."""
    if token is None or token.kind is TokenKind.OPERATOR:
        return False
    return token.kind is not TokenKind.PUNCTUATION or token.text in ")]*"


def _word(expression: str, at: int, boundaries: frozenset[str] = _BOUNDARIES) -> str:
    end = at + 1
    while end < len(expression) and expression[end] not in boundaries and not expression[end].isspace():
        end += 1
    return expression[at:end]


def _string(expression: str, at: int) -> Token:
    end = at + 1
    while True:
        end = expression.find("'", end)
        if end < 0:
            raise unexpected_symbol(Stage.LEXING, expression[at:], at + 1, expression)
        if not expression.startswith("''", end):
            break
        end += 2
    text = expression[at : end + 1]
    return Token(TokenKind.LITERAL, text, at + 1, text[1:-1].replace("''", "'"))


def _number(expression: str, at: int) -> Token:
    text = _word(expression, at, _BOUNDARIES - {"."})
    value = parse_number(text)
    if math.isnan(value):
        raise unexpected_symbol(Stage.LEXING, text, at + 1, expression)
    return Token(TokenKind.LITERAL, text, at + 1, value)


def _name(expression: str, at: int, before: Token | None) -> Token:
    text = _word(expression, at)
    if not _NAME.fullmatch(text):
        raise unexpected_symbol(Stage.LEXING, text, at + 1, expression)
    if before is not None and before.kind is TokenKind.PUNCTUATION and before.text == ".":
        return Token(TokenKind.PROPERTY, text, at + 1)
    if text in _LITERALS:
        return Token(TokenKind.LITERAL, text, at + 1, _LITERALS[text])
    is_function = expression[at + len(text) :].lstrip().startswith("(")
    return Token(TokenKind.FUNCTION if is_function else TokenKind.NAMED_VALUE, text, at + 1)
