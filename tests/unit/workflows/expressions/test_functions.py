from __future__ import annotations

import pytest

from rota.workflows.expressions.errors import ExpressionError
from rota.workflows.expressions.evaluator import Scope
from rota.workflows.expressions.functions import FUNCTIONS, MOST_BYTES
from rota.workflows.expressions.values import value_of

SCOPE = Scope({"long": "x" * (MOST_BYTES // 20), "many": value_of([[1, {"a": None}]])}, FUNCTIONS)


@pytest.mark.parametrize(
    "expression",
    [
        f"format('{'{0}' * 11}', long)",
        f"format('{'{0}' * 21}', format('{{0}}', long))",
        f"join(fromJSON('[1, 2, 3]'), format('{'{0}' * 6}', long))",
        f"toJSON(format('{'{0}' * 10}', long))",
    ],
)
def test_texts_have_a_size(expression: str) -> None:
    with pytest.raises(ExpressionError, match="memory"):
        SCOPE.evaluate(expression)


def test_what_case_does_not_choose_is_not_evaluated() -> None:
    assert SCOPE.evaluate("case(true, 'a', fromJSON('{'))") == "a"
    with pytest.raises(ExpressionError, match="fromJson"):
        SCOPE.evaluate("case(false, 'a', fromJSON('{'))")


@pytest.mark.parametrize("text", ["", "{", "[1,]", "NaN", "[" * 100_000, '{"a" 1}'])
def test_json_that_cant_be_read(text: str) -> None:
    with pytest.raises(ExpressionError, match="Error parsing fromJson"):
        Scope({"text": text}, FUNCTIONS).evaluate("fromJSON(text)")


def test_json_of_nested_values() -> None:
    assert SCOPE.evaluate("toJSON(many)") == '[\n  [\n    1,\n    {\n      "a": null\n    }\n  ]\n]'
