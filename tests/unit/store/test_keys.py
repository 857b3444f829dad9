"""Ids and the keys of their rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.model.ids import JobId
from rota.store.keys import find_key, first_key, id_of, key_of, keys_of_array, number_of

numbers = st.integers(0, 2**39 - 1)
indexes = st.none() | st.integers(0, 2**24 - 2)


def job_id(number: int, index: int | None) -> JobId:
    return JobId(f"{number}" if index is None else f"{number}.{index}")


@given(numbers, indexes)
def test_an_id_comes_back_from_its_key(number: int, index: int | None) -> None:
    job = job_id(number, index)
    key = key_of(job)
    assert id_of(key) == job
    assert number_of(key) == number
    assert first_key(number) <= key < first_key(number + 1) <= 2**63
    assert (key in keys_of_array(number)) == (index is not None)


@given(st.tuples(numbers, indexes), st.tuples(numbers, indexes))
def test_keys_are_in_the_order_of_numbers_and_indexes(
    one: tuple[int, int | None], other: tuple[int, int | None]
) -> None:
    def place(at: tuple[int, int | None]) -> tuple[int, int]:
        return at[0], -1 if at[1] is None else at[1]

    assert (key_of(job_id(*one)) < key_of(job_id(*other))) == (place(one) < place(other))


@pytest.mark.parametrize(
    "text",
    ["", "x", "-1", "+1", "01", "1.", ".1", "1.00", "1.2.3", " 1", "1\n", "²", "549755813888", "1.16777215"],
)
def test_what_no_job_can_be_called_has_no_key(text: str) -> None:
    assert find_key(text) is None
    with pytest.raises(ValueError, match="not an id of a job"):
        key_of(JobId(text))


@given(st.integers(2**39, 10**30))
def test_an_array_of_a_number_that_no_job_can_have_has_no_keys(number: int) -> None:
    assert not keys_of_array(number)
