"""Conditions on labels: each operator, on labels that are there and on those that are not."""

import pytest

from rota.model.selectors import Operator, Requirement, Selector, whole_number
from tests.words import pairs, when

pytestmark = pytest.mark.covers("decide-3")


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ("zone In a,b", "a", True),
        ("zone In a,b", "c", False),
        ("zone In a,b", None, False),
        ("zone NotIn a,b", "a", False),
        ("zone NotIn a,b", "c", True),
        ("zone NotIn a,b", None, True),
        ("ssd Exists", "", True),
        ("ssd Exists", None, False),
        ("ssd DoesNotExist", "", False),
        ("ssd DoesNotExist", None, True),
        ("cores Gt 8", "9", True),
        ("cores Gt 8", "8", False),
        ("cores Gt 8", "10", True),
        ("cores Gt 8", "-9", False),
        ("cores Gt -8", "-7", True),
        ("cores Gt 8", "many", False),
        ("cores Gt 8", None, False),
        ("cores Lt 8", "7", True),
        ("cores Lt 8", "8", False),
        ("cores Lt 8", "-100", True),
        ("cores Lt 8", "", False),
        ("cores Lt 8", None, False),
    ],
)
def test_an_operator_on_a_value(condition: str, value: str | None, holds: bool) -> None:
    assert when(condition).admits(value) is holds


@pytest.mark.parametrize("value", ["1", "x", None])
@pytest.mark.parametrize(
    ("condition", "opposite"), [("k In 1,2", "k NotIn 1,2"), ("k Exists", "k DoesNotExist")]
)
def test_opposites_never_hold_together_and_never_both_fail(
    condition: str, opposite: str, value: str | None
) -> None:
    assert when(condition).admits(value) is not when(opposite).admits(value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-1", -1),
        ("007", 7),
        (str(2**63 - 1), 2**63 - 1),
        (str(-(2**63)), -(2**63)),
        (str(2**63), None),
        (str(-(2**63) - 1), None),
        ("9" * 5000, None),
        ("1.5", None),
        ("1e3", None),
        ("+1", None),
        (" 1", None),
        ("1_000", None),
        ("--1", None),
        ("-", None),
        ("²", None),
        ("", None),
        (None, None),
    ],
)
def test_a_number_is_what_fits_in_64_bits(text: str | None, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    ("labels", "selected"),
    [
        ({"app": "web", "tier": "front"}, True),
        ({"app": "web", "tier": "front", "more": "x"}, True),
        ({"app": "web"}, False),
        ({"app": "web", "tier": "back"}, False),
        ({}, False),
    ],
)
def test_a_selector_wants_all_its_requirements(labels: dict[str, str], selected: bool) -> None:
    selector = Selector((when("app In web,api"), when("tier In front")))
    assert selector.selects(pairs(labels)) is selected


def test_a_selector_without_requirements_selects_everything() -> None:
    assert Selector().selects(())
    assert Selector().selects(pairs({"any": "thing"}))


def test_equal_conditions_are_one_key() -> None:
    """Equal jobs share their computation only if their conditions are equal and hash alike."""
    one, other = Requirement("k", Operator.IN, ("a",)), Requirement("k", Operator.IN, ("a",))
    assert one == other
    assert len({one, other, Requirement("k", Operator.NOT_IN, ("a",))}) == 2
