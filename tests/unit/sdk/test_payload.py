"""What goes to a worker and comes back."""

import io
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from rota.sdk import payload
from rota.sdk.errors import BadInput, NotPicklable
from rota.sdk.orders import FULL_BYTES, MOST_CALLS, Function, JobFuture, Order, first_batch, parcels


def test_each_worker_finds_its_own_arguments() -> None:
    data = payload.packed([b"zero", b"", b"two\n"], ["/lib"])
    assert [payload.unpacked(io.BytesIO(data), index) for index in range(3)] == [
        (["/lib"], b"zero"),
        (["/lib"], b""),
        (["/lib"], b"two\n"),
    ]


def test_errors_of_rota_are_carried_with_all_they_say() -> None:
    error = BadInput("is not an amount", field="cpu", help="give a number", status=422)
    with pytest.raises(BadInput) as caught:
        payload.outcome_of(payload.raised(error))
    assert (caught.value.field, caught.value.help, caught.value.status) == ("cpu", "give a number", 422)


def test_a_result_of_a_class_that_is_not_here() -> None:
    with pytest.raises(NotPicklable, match="the result can't be read here"):
        payload.outcome_of(b"cno_such_module\nThing\n.")


def test_a_worker_started_by_hand(tmp_path: Path) -> None:
    (tmp_path / "function.pkl").write_bytes(payload.pickled(lambda text: text * 2, ""))
    calls = [payload.pickled_arguments("f", (text,), {}) for text in ("a", "b")]
    (tmp_path / "calls.bin").write_bytes(payload.packed(calls, sys.path))
    subprocess.run(
        [sys.executable, "-m", "rota.sdk.worker"], cwd=tmp_path, env={"ROTA_ARRAY_INDEX": "1"}, check=True
    )
    assert pickle.loads((tmp_path / "result.pkl").read_bytes()) == (True, "bb", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.bin", "function.pkl", "result.pkl"]


def order(function: Function, size: int = 1) -> Order:
    return Order(JobFuture(), function, b"x" * size)


def test_calls_of_one_function_go_together() -> None:
    first, second = Function("f", b"1", "1"), Function("g", b"2", "2")
    orders = [order(first), order(second), order(Function("f", b"1", "1"))]
    assert [(parcel.function.name, len(parcel.orders)) for parcel in parcels(orders)] == [("f", 2), ("g", 1)]


def test_how_many_go_together() -> None:
    function = Function("f", b"", "")
    assert first_batch([order(function)] * (MOST_CALLS + 1)) == MOST_CALLS
    assert first_batch([order(function, FULL_BYTES * 2), order(function)]) == 1
    assert first_batch([order(function, FULL_BYTES // 2)] * 5) == 2
    assert first_batch([order(function)] * 3) == 3
