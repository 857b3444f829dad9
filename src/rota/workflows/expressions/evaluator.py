"""The value of a syntax tree, with the contexts and functions that are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from rota.workflows.expressions.errors import ExpressionError, Stage
from rota.workflows.expressions.parser import Arity, Vocabulary, parse, vocabulary
from rota.workflows.expressions.syntax import (
    And,
    Call,
    Comparison,
    Index,
    Literal,
    NamedValue,
    Node,
    Not,
    Or,
    Wildcard,
)
from rota.workflows.expressions.values import (
    FilteredArray,
    ObjectValue,
    Value,
    are_equal,
    fold,
    is_less,
    is_primitive,
    to_boolean,
    to_number,
    to_string,
)

Lazy: TypeAlias = Callable[[], Value]
"""An argument: evaluated when the function asks for it, so that what `case` doesn't choose can't fail."""


class Function(Struct, frozen=True):
    arity: Arity
    call: Callable[[Sequence[Lazy]], Value]


class Scope:
    """What an expression can see. Parsed expressions are kept: those of a matrix or of a loop come again."""

    def __init__(self, contexts: Mapping[str, Value], functions: Mapping[str, Function]) -> None:
        self._contexts = {fold(name): value for name, value in contexts.items()}
        self._functions = {fold(name): function for name, function in functions.items()}
        self.vocabulary: Vocabulary = vocabulary(
            contexts.keys(), {name: function.arity for name, function in functions.items()}
        )

    def evaluate(self, expression: str) -> Value:
        """Raises ExpressionError."""
        node = parse(expression, self.vocabulary)
        return None if node is None else self.value(node)

    def value(self, node: Node) -> Value:
        match node:
            case Literal(value):
                return value
            case NamedValue(name):
                return self._contexts[fold(name)]
            case Index(of, index):
                return self._indexed(self.value(of), index)
            case Call(function, arguments):
                lazy = [lambda one=one: self.value(one) for one in arguments]
                return self._functions[fold(function)].call(lazy)
            case Not(operand):
                return not to_boolean(self.value(operand))
            case Comparison(operator, left, right):
                return compare(operator, self.value(left), self.value(right))
            case And(operands):
                return self._first(operands, False)
            case Or(operands):
                return self._first(operands, True)
            case Wildcard():
                raise ExpressionError(Stage.EVALUATION, "'*' stands by itself")

    def _first(self, operands: Sequence[Node], wanted: bool) -> Value:
        """The first operand that decides, or the last: `&&` and `||` give one of their operands."""
        for operand in operands[:-1]:
            value = self.value(operand)
            if to_boolean(value) is wanted:
                return value
        return self.value(operands[-1])

    def _indexed(self, of: Value, index: Node) -> Value:
        if isinstance(index, Wildcard):
            return FilteredArray(one for item in _mapped(of) for one in _elements(item))
        at = self.value(index)
        if isinstance(of, FilteredArray):
            return FilteredArray(_element(item, at) for item in of if _has_element(item, at))
        return _element(of, at)


def compare(operator: str, left: Value, right: Value) -> bool:
    match operator:
        case "==":
            return are_equal(left, right)
        case "!=":
            return not are_equal(left, right)
        case "<":
            return is_less(left, right)
        case "<=":
            return is_less(left, right) or are_equal(left, right)
        case ">":
            return is_less(right, left)
        case _:
            return is_less(right, left) or are_equal(left, right)


def _mapped(of: Value) -> Sequence[Value]:
    return of if isinstance(of, FilteredArray) else [of]


def _elements(of: Value) -> Sequence[Value]:
    if isinstance(of, list):
        return of
    return list(of.values()) if isinstance(of, ObjectValue) else ()


def _has_element(of: Value, at: Value) -> bool:
    if isinstance(of, list):
        return _position(of, at) is not None
    return isinstance(of, ObjectValue) and is_primitive(at) and to_string(at) in of


def _element(of: Value, at: Value) -> Value:
    if isinstance(of, list):
        position = _position(of, at)
        return None if position is None else of[position]
    if isinstance(of, ObjectValue) and is_primitive(at):
        return of.get(to_string(at))
    return None


def _position(of: list[Value], at: Value) -> int | None:
    number = to_number(at)
    if math.isnan(number) or not 0 <= number < len(of):
        return None
    return math.floor(number)
