"""What jobs share is encoded once, and what is their own comes back."""

from __future__ import annotations

from msgspec.structs import replace

from rota.model.run import OnTaskFailure, Retry
from rota.store.writing.encoding import decode_shared, decode_state, encode_shared, encode_state, shared_part
from tests.stored import job

LARGE = ("x" * 10_000,)


def test_elements_of_an_array_have_the_same_shared_part() -> None:
    digests = {encode_shared(shared_part(job(f"5.{index}", command=LARGE).spec))[0] for index in range(3)}
    assert len(digests) == 1


def test_any_difference_in_the_shared_part_shows() -> None:
    spec = job("1").spec
    different = [
        spec,
        job("1", command=("false",)).spec,
        job("1", user="bob").spec,
        replace(spec, retry=Retry(limit=1)),
        replace(spec, on_task_failure=OnTaskFailure.CONTINUE),
    ]
    assert len({encode_shared(shared_part(one))[0] for one in different}) == len(different)


def test_names_and_times_are_not_shared() -> None:
    spec = job("1").spec
    digest = encode_shared(shared_part(spec))[0]
    own = replace(spec, name="other", held=True, start_after_ms=5, deadline_ms=6, array_index=7)
    assert encode_shared(shared_part(own))[0] == digest


def test_a_state_is_small_whatever_it_runs_and_comes_back_whole() -> None:
    state = job("5.2", command=LARGE, name="sweep", labels={"a": "b"}, phase="failed", message="no")
    body = encode_state(state)
    assert len(body) < 300
    shared = decode_shared(encode_shared(shared_part(state.spec))[1])
    assert decode_state(body, shared) == state
