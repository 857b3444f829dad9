"""Python calls as jobs, behind the interface of `concurrent.futures`."""

from __future__ import annotations

import atexit
import concurrent.futures
import functools
import hashlib
import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

from rota.sdk import payload
from rota.sdk.client import Client
from rota.sdk.courier import Courier
from rota.sdk.errors import BadInput, ExecutorClosed
from rota.sdk.orders import Function, JobFuture, Order

P = ParamSpec("P")
T = TypeVar("T")

ITS_OWN_FIELDS = frozenset(
    ("command", "args", "script", "directory", "files", "outputs", "array", "tasks", "groups")
)
"""Of a job: those that the executor itself gives."""

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class Executor(concurrent.futures.Executor):
    """Each call becomes a job with its own interpreter. Calls in quick succession are submitted together, as
    arrays. The request of the jobs is given once, as in a job file:

        with rota.Executor(resources={"cpu": 2}, time_limit="10m") as executor:
            results = list(executor.map(simulate, range(100)))
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        project: str | None = None,
        queue: str | None = None,
        resources: Mapping[str, object] | None = None,
        gpus: object = None,
        time_limit: object = None,
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
        **fields: object,
    ) -> None:
        """Raises what a Client would if there is no server. `python`: the interpreter that jobs run, which
        must have Rota installed; `fields`: any other field of a job. Without a client it makes its own."""
        if taken := sorted(ITS_OWN_FIELDS & fields.keys()):
            raise BadInput("is given by the executor itself", field=taken[0], help="leave it out")
        stated = {
            "project": project,
            "queue": queue,
            "resources": resources,
            "gpus": gpus,
            "time_limit": time_limit,
            "environment": environment,
            **fields,
        }
        form: dict[str, object] = {name: value for name, value in stated.items() if value is not None}
        form["command"] = (python, "-m", "rota.sdk.worker")
        if client is None:
            with Client() as own:
                own.me()
                connection = own.connection
        else:
            client.me()
            connection = client.connection
        self._lock = threading.Lock()
        self._is_shut = False
        self._courier = Courier(connection, form)
        atexit.register(self.shutdown)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> JobFuture[T]:
        """Raises NotPicklable if the function or an argument can't be sent to another process."""
        # `map` hands in the function pickled already, once for all its calls.
        function = fn if isinstance(fn, Function) else _function(fn)
        order = Order(JobFuture(), function, payload.pickled_arguments(function.name, args, kwargs))
        with self._lock:
            if self._is_shut:
                raise ExecutorClosed("the executor was shut down", help="make a new one")
            self._courier.take(order)
        return order.future

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[T]:
        """The results in order. With a `chunksize` above 1, that many calls form one job. This pays off for
        calls that take less time than the start of an interpreter."""
        if chunksize < 1:
            raise BadInput(f"{chunksize} calls make no job", field="chunksize", help="give 1 or more")
        if chunksize == 1:
            return super().map(_function(fn), *iterables, timeout=timeout)
        of_chunk = _function(functools.partial(payload.call_each, fn), _job_name(fn))
        chunks = super().map(of_chunk, _chunks(zip(*iterables, strict=False), chunksize), timeout=timeout)
        return itertools.chain.from_iterable(chunks)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more calls. `cancel_futures` cancels those that don't run yet. It waits for the others,
        unless `wait` is False; they then go on alone."""
        with self._lock:
            self._is_shut = True
        self._courier.close(cancel_waiting=cancel_futures)
        if wait:
            self._courier.join()
            atexit.unregister(self.shutdown)


def _function(function: Callable[..., object], name: str | None = None) -> Any:
    """`Any`, since `map` of the base class takes it for a function."""
    name = name or _job_name(function)
    data = payload.pickled(function, f"the function {name}")
    return Function(name, data, hashlib.sha256(data).hexdigest())


def _job_name(function: Callable[..., object]) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return _NOT_OF_A_NAME.sub("-", name).strip("-.") or "call"


def _chunks(calls: Iterator[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(itertools.islice(calls, size)):
        yield chunk
