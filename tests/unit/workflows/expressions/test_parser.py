"""Beyond the cases of tests/conformance: input that nobody writes by accident."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.workflows.expressions.errors import ExpressionError, Stage
from rota.workflows.expressions.evaluator import Scope
from rota.workflows.expressions.functions import FUNCTIONS
from rota.workflows.expressions.parser import MOST_CHARACTERS, MOST_DEPTH

SCOPE = Scope({"github": None}, FUNCTIONS)


def test_parentheses_may_be_nested_as_deep_as_they_like() -> None:
    many = (MOST_CHARACTERS - 1) // 2
    assert SCOPE.evaluate("(" * many + "1" + ")" * many) == 1


@pytest.mark.parametrize("opened", ["(" * 5_000, "!" * 5_000 + "1", "github[" * 2_000, "format(" * 2_000])
def test_what_is_never_closed_is_an_error(opened: str) -> None:
    with pytest.raises(ExpressionError) as error:
        SCOPE.evaluate(opened)
    assert error.value.stage is Stage.PARSING


def test_depth_and_length_are_limited() -> None:
    assert SCOPE.evaluate("!" * (MOST_DEPTH - 1) + "1") is False
    with pytest.raises(ExpressionError, match="depth 50"):
        SCOPE.evaluate("!" * MOST_DEPTH + "1")
    with pytest.raises(ExpressionError, match="length"):
        SCOPE.evaluate(" " * (MOST_CHARACTERS + 1))


@given(st.text(alphabet="github.'()[]*,!<>=&|1ex- \n\U0001f60a"))
def test_any_text_is_a_value_or_an_error_of_its_own_kind(text: str) -> None:
    with suppress(ExpressionError):
        SCOPE.evaluate(text)
