"""What goes to a worker and comes back: a function and the arguments of its calls, and an outcome.

function.pkl   the function, once for all calls of an array
calls.bin      one line of JSON: the submitter's module path and where each call's arguments end;
               then the arguments, one pickle after the other
result.pkl     (True, value, "") or (False, exception, its traceback as text)
"""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO, TypeVar

import cloudpickle  # type: ignore[import-untyped]

from rota.sdk.errors import NotPicklable

FUNCTION_FILE = "function.pkl"
CALLS_FILE = "calls.bin"
RESULT_FILE = "result.pkl"

T = TypeVar("T")


class RemoteTraceback(Exception):
    """The cause of an exception that was raised in a job: where, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def pickled(value: object, what: str) -> bytes:
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise NotPicklable(
            f"{what} can't be sent to another process: {error}",
            help="open files, locks and connections inside the function instead",
        ) from error


def pickled_arguments(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> bytes:
    """An error names the argument."""
    try:
        return pickled((args, kwargs), "")
    except NotPicklable:
        for index, value in enumerate(args, start=1):
            pickled(value, f"argument {index} of {name}")
        for key, value in kwargs.items():
            pickled(value, f"argument {key} of {name}")
        raise


def packed(calls: Sequence[bytes], module_path: Iterable[str]) -> bytes:
    ends, end = [], 0
    for call in calls:
        end += len(call)
        ends.append(end)
    header = json.dumps({"module_path": list(module_path), "ends": ends})
    return header.encode() + b"\n" + b"".join(calls)


def unpacked(file: BinaryIO, index: int) -> tuple[list[str], bytes]:
    """The module path, and the arguments of one call."""
    header = json.loads(file.readline())
    begin = header["ends"][index - 1] if index else 0
    file.seek(begin, 1)
    return header["module_path"], file.read(header["ends"][index] - begin)


def returned(value: object) -> bytes:
    return pickled((True, value, ""), "its result")


def raised(error: BaseException) -> bytes:
    """An exception that can't be pickled is sent as text."""
    text = "".join(traceback.format_exception(error))
    try:
        outcome = pickled((False, error, text), "")
        pickle.loads(outcome)
    except Exception:
        stand_in = RuntimeError(f"{type(error).__qualname__}: {error}")
        outcome = pickled((False, stand_in, text), "")
    return outcome


def outcome_of(data: bytes) -> Any:
    """The value, or the exception raised. Use it only for results of your own jobs: reading a pickle executes
    code that its author chose."""
    try:
        is_value, outcome, text = pickle.loads(data)
    except Exception as error:
        raise NotPicklable(
            f"the result can't be read here: {type(error).__name__}: {error}",
            help="return plain values, or of classes that can be imported here too",
        ) from error
    if is_value:
        return outcome
    outcome.__cause__ = RemoteTraceback(text)
    raise outcome


def call_each(function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
    """Several calls in one job."""
    return [function(*args) for args in calls]
