from __future__ import annotations

import pytest

from rota.workflows.expressions.errors import ExpressionError
from rota.workflows.expressions.evaluator import Scope
from rota.workflows.expressions.functions import FUNCTIONS
from rota.workflows.expressions.templates import Embedded, as_expression, parts_of, rendered, value_in

SCOPE = Scope({}, FUNCTIONS)


def test_brackets_in_quotes_close_nothing() -> None:
    assert rendered("a ${{ '}}' }} b", SCOPE) == "a }} b"


def test_where_each_expression_begins() -> None:
    assert list(parts_of("a ${{  1 }}${{ 2 }}")) == ["a ", Embedded("1", 7), Embedded("2", 15)]


def test_one_that_is_not_closed() -> None:
    with pytest.raises(ExpressionError, match="not closed"):
        rendered("${{ 'a }}", SCOPE)


def test_a_text_that_is_one_expression_has_its_value() -> None:
    assert value_in("${{ fromJSON('[1]') }}", SCOPE) == [1.0]
    assert value_in("${{ 1 }} ", SCOPE) == "1 "


@pytest.mark.parametrize("text", ["it's {0} ${{ 1 + }}".replace(" + ", " "), "{a}", "${{ 'x' }}${{ 'y' }}'"])
def test_the_one_expression_has_the_same_value(text: str) -> None:
    assert SCOPE.evaluate(as_expression(text)) == rendered(text, SCOPE)
