"""The syntax tree of an expression."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from rota.workflows.expressions.values import Value


class Literal(Struct, frozen=True):
    value: Value


class NamedValue(Struct, frozen=True):
    """A context: `github`, `env` …"""

    name: str


class Wildcard(Struct, frozen=True):
    """`*`, as an index."""


class Index(Struct, frozen=True):
    """`of.index` and `of[index]`."""

    of: Node
    index: Node


class Call(Struct, frozen=True):
    function: str
    arguments: tuple[Node, ...]


class Not(Struct, frozen=True):
    operand: Node


class Comparison(Struct, frozen=True):
    operator: str
    left: Node
    right: Node


class And(Struct, frozen=True):
    operands: tuple[Node, ...]


class Or(Struct, frozen=True):
    operands: tuple[Node, ...]


Node: TypeAlias = Literal | NamedValue | Wildcard | Index | Call | Not | Comparison | And | Or


def children_of(node: Node) -> tuple[Node, ...]:
    match node:
        case Index(of, index):
            return (of, index)
        case Call(_, arguments):
            return arguments
        case Not(operand):
            return (operand,)
        case Comparison(_, left, right):
            return (left, right)
        case And(operands) | Or(operands):
            return operands
    return ()
