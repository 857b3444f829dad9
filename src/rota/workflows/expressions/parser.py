"""Tokens put together to a syntax tree.

Operands and operators are kept on two stacks, so that parentheses may be nested as deep as they like. The
depth of the tree is limited: it is walked by recursion later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from rota.workflows.expressions.errors import (
    ExpressionError,
    Stage,
    parameters,
    unexpected_end,
    unexpected_symbol,
    unrecognized,
)
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
    children_of,
)
from rota.workflows.expressions.tokens import Token, TokenKind, tokens_of
from rota.workflows.expressions.values import fold

MOST_CHARACTERS = 21_000
MOST_DEPTH = 50

_PRECEDENCE = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "!": 5}


class Arity(Struct, frozen=True):
    """How many arguments a function takes."""

    least: int
    most: int
    is_odd: bool = False


class Vocabulary(Struct, frozen=True):
    """What an expression may name."""

    named_values: frozenset[str]
    """Folded."""
    functions: Mapping[str, Arity]
    """By folded names."""


def vocabulary(named_values: Collection[str], functions: Mapping[str, Arity]) -> Vocabulary:
    return Vocabulary(
        frozenset(map(fold, named_values)), {fold(name): arity for name, arity in functions.items()}
    )


def parse(expression: str, known: Vocabulary) -> Node | None:
    """Nothing for an expression that is empty. Raises ExpressionError."""
    if len(expression) > MOST_CHARACTERS:
        raise ExpressionError(Stage.PARSING, f"Exceeded max expression length {MOST_CHARACTERS}")
    parser = _Parser(expression, known)
    for token in tokens_of(expression):
        parser.take(token)
    return parser.whole()


class _Open(Struct):
    """A bracket that isn't closed yet, or an operator that waits for its right side."""

    token: Token
    arguments: list[Node] | None = None
    """Of a call."""


class _Parser:
    def __init__(self, expression: str, known: Vocabulary) -> None:
        self._expression = expression
        self._known = known
        self._operands: list[tuple[Node, int]] = []
        """Each with its depth."""
        self._open: list[_Open] = []
        self._wants_operand = True
        self._function: Token | None = None
        """Whose `(` comes next."""
        self._last: Token | None = None

    def take(self, token: Token) -> None:
        if self._function is not None:
            self._open.append(_Open(self._function, []))
            self._function = None
        elif self._is_after("."):
            self._property(token)
        elif self._wants_operand:
            self._operand(token)
        else:
            self._operator(token)
        self._last = token

    def whole(self) -> Node | None:
        if self._last is None:
            return None
        if self._wants_operand or self._is_after(".") or self._function is not None:
            raise self._ends_early()
        self._reduce(0)
        if self._open:
            raise self._ends_early()
        [(node, _)] = self._operands
        return node

    def _ends_early(self) -> ExpressionError:
        assert self._last is not None
        return unexpected_end(self._last.text, self._last.position, self._expression)

    def _unexpected(self, token: Token) -> ExpressionError:
        return unexpected_symbol(Stage.PARSING, token.text, token.position, self._expression)

    def _is_after(self, punctuation: str) -> bool:
        last = self._last
        return last is not None and last.kind is TokenKind.PUNCTUATION and last.text == punctuation

    # -- where an operand is expected

    def _operand(self, token: Token) -> None:
        match token.kind, token.text:
            case TokenKind.LITERAL, _:
                self._push(Literal(token.value))
            case TokenKind.NAMED_VALUE, name:
                if fold(name) not in self._known.named_values:
                    raise unrecognized("named-value", name, token.position, self._expression)
                self._push(NamedValue(name))
            case TokenKind.FUNCTION, name:
                if fold(name) not in self._known.functions:
                    raise unrecognized("function", name, token.position, self._expression)
                self._function = token
            case (TokenKind.PUNCTUATION, "(") | (TokenKind.OPERATOR, "!"):
                self._open.append(_Open(token))
            case TokenKind.PUNCTUATION, ")" if self._is_after("(") and self._call() is not None:
                self._end_of_call(self._open.pop())
            case TokenKind.PUNCTUATION, "*" if self._is_after("["):
                self._push(Wildcard())
            case _:
                raise self._unexpected(token)

    def _call(self) -> list[Node] | None:
        return self._open[-1].arguments if self._open else None

    # -- where one has just been

    def _operator(self, token: Token) -> None:
        match token.kind, token.text:
            case TokenKind.OPERATOR, operator if operator != "!":
                self._reduce(_PRECEDENCE[operator])
                self._open.append(_Open(token))
                self._wants_operand = True
            case TokenKind.PUNCTUATION, ".":
                pass
            case TokenKind.PUNCTUATION, "[":
                self._open.append(_Open(token))
                self._wants_operand = True
            case TokenKind.PUNCTUATION, "]":
                self._end_of_index(token)
            case TokenKind.PUNCTUATION, ")":
                self._end_of_bracket(token)
            case TokenKind.PUNCTUATION, ",":
                self._reduce(0)
                arguments = self._call()
                if arguments is None:
                    raise self._unexpected(token)
                arguments.append(self._operands.pop()[0])
                self._wants_operand = True
            case _:
                raise self._unexpected(token)

    def _property(self, token: Token) -> None:
        if token.kind is TokenKind.PROPERTY:
            self._index(Literal(token.text), 1)
        elif token.kind is TokenKind.PUNCTUATION and token.text == "*":
            self._index(Wildcard(), 1)
        else:
            raise self._unexpected(token)

    def _end_of_index(self, token: Token) -> None:
        self._reduce(0)
        if not self._open or self._open[-1].token.text != "[":
            raise self._unexpected(token)
        self._open.pop()
        index, depth = self._operands.pop()
        self._index(index, depth)

    def _index(self, index: Node, index_depth: int) -> None:
        of, depth = self._operands.pop()
        self._push(Index(of, index), max(depth, index_depth) + 1)

    def _end_of_bracket(self, token: Token) -> None:
        self._reduce(0)
        if not self._open or self._open[-1].token.text == "[":
            raise self._unexpected(token)
        bracket = self._open.pop()
        if bracket.arguments is not None:
            bracket.arguments.append(self._operands.pop()[0])
            self._end_of_call(bracket)

    def _end_of_call(self, call: _Open) -> None:
        assert call.arguments is not None
        name, position = call.token.text, call.token.position
        arity, count = self._known.functions[fold(name)], len(call.arguments)
        if count < arity.least:
            raise parameters("Too few parameters supplied", name, position, self._expression)
        if count > arity.most:
            raise parameters("Too many parameters supplied", name, position, self._expression)
        if arity.is_odd and count % 2 == 0:
            raise parameters(
                "Even number of parameters supplied, requires an odd number of parameters",
                name,
                position,
                self._expression,
            )
        depth = 1 + max(map(_depth, call.arguments), default=0)
        self._push(Call(name, tuple(call.arguments)), depth)

    # -- the stacks

    def _push(self, node: Node, depth: int = 1) -> None:
        if depth > MOST_DEPTH:
            raise ExpressionError(Stage.PARSING, f"Exceeded max expression depth {MOST_DEPTH}")
        self._operands.append((node, depth))
        self._wants_operand = False

    def _reduce(self, precedence: int) -> None:
        """Carries out the operators that bind at least as tightly, back to the last open bracket."""
        while self._open and self._open[-1].token.kind is TokenKind.OPERATOR:
            operator = self._open[-1].token.text
            if _PRECEDENCE[operator] < precedence:
                return
            self._open.pop()
            right, right_depth = self._operands.pop()
            if operator == "!":
                self._push(Not(right), right_depth + 1)
                continue
            left, left_depth = self._operands.pop()
            self._push(*_joined(operator, left, left_depth, right, right_depth))


def _joined(operator: str, left: Node, left_depth: int, right: Node, right_depth: int) -> tuple[Node, int]:
    """`a && b && c` is one node of three, so that a long list isn't a deep one."""
    kinds: dict[str, type[And | Or]] = {"&&": And, "||": Or}
    kind = kinds.get(operator)
    if kind is None:
        return Comparison(operator, left, right), max(left_depth, right_depth) + 1
    if isinstance(left, kind):
        return kind((*left.operands, right)), max(left_depth, right_depth + 1)
    return kind((left, right)), max(left_depth, right_depth) + 1


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, children_of(node)), default=0)
