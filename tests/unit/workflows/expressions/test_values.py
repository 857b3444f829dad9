from __future__ import annotations

import pytest

from rota.workflows.expressions.values import ObjectValue, are_equal, fold, is_less, number_text, parse_number


def test_keys_are_found_whatever_their_case() -> None:
    value = ObjectValue([("Key", 1.0), ("kEY", 2.0)])
    assert (value.get("KEY"), list(value.items())) == (2.0, [("Key", 2.0)])


@pytest.mark.parametrize(("left", "right"), [("straße", "STRASSE"), ("ı", "I"), ("\u212a", "k")])
def test_letters_that_only_look_alike_differ(left: str, right: str) -> None:
    assert fold(left) != fold(right)
    assert not are_equal(left, right)


def test_arrays_and_objects_are_equal_to_themselves_alone() -> None:
    one, other = ObjectValue(), ObjectValue()
    assert are_equal(one, one)
    assert not are_equal(one, other)
    assert not is_less([], [])


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), (" 0x1F ", 31), ("0o17", 15), ("1_000", None), ("0b1", None), ("١", None)]
)
def test_texts_as_numbers(text: str, number: float | None) -> None:
    found = parse_number(text)
    assert found == number if number is not None else found != found


def test_numbers_as_texts() -> None:
    assert [number_text(one) for one in (1e15, 0.1 + 0.2, -0.0, 1e-5)] == ["1E+15", "0.3", "0", "1E-05"]
