"""What is wrong with an expression, and at which stage it was found."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    LEXING = "lexing"
    PARSING = "parsing"
    EVALUATION = "evaluation"


class ExpressionError(Exception):
    """Says what is wrong. `position` counts from 1 within the expression; 0 where there is none."""

    def __init__(self, stage: Stage, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.stage = stage
        self.message = message
        self.position = position


def unexpected_symbol(stage: Stage, symbol: str, position: int, expression: str) -> ExpressionError:
    return _located(stage, f"Unexpected symbol: '{symbol}'", position, expression)


def unexpected_end(symbol: str, position: int, expression: str) -> ExpressionError:
    return _located(Stage.PARSING, f"Unexpected end of expression: '{symbol}'", position, expression)


def unrecognized(what: str, name: str, position: int, expression: str) -> ExpressionError:
    """`what`: "named-value" or "function"."""
    return _located(Stage.PARSING, f"Unrecognized {what}: '{name}'", position, expression)


def parameters(problem: str, name: str, position: int, expression: str) -> ExpressionError:
    return _located(Stage.PARSING, f"{problem}: '{name}'", position, expression)


def _located(stage: Stage, what: str, position: int, expression: str) -> ExpressionError:
    return ExpressionError(
        stage, f"{what}. Located at position {position} within expression: {expression}", position
    )
