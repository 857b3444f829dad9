"""Calls that wait to become jobs, and what goes together."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")

MOST_CALLS = 1000
"""In one submission."""
FULL_BYTES = 1 << 20
"""Arguments of an array: each of its jobs is handed all of them."""


class JobFuture(concurrent.futures.Future[T], Generic[T]):
    """A call that is, or will be, a job. Unlike others it can be cancelled while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.job_id: str | None = None
        """Once it is submitted."""
        self.is_started = False
        self.on_cancel: Callable[[], object] = lambda: None
        self._cancelling = threading.Lock()

    def running(self) -> bool:
        return self.is_started and not self.done()

    def cancel(self) -> bool:
        # To the base class a future stays pending until its outcome is known, since it would refuse to
        # cancel one that runs.
        with self._cancelling:
            if self.cancelled():
                return True
            if not super().cancel():
                return False
            # Only this notifies code that waits for several futures.
            self.set_running_or_notify_cancel()
        self.on_cancel()
        return True

    def fulfil(self, value: T) -> None:
        with contextlib.suppress(concurrent.futures.InvalidStateError):  # cancelled in this moment
            self.set_result(value)

    def fail(self, error: BaseException) -> None:
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            self.set_exception(error)


class Function(Struct, frozen=True, eq=False):
    """Pickled, and the name that its jobs bear."""

    name: str
    data: bytes
    digest: str


class Order(Struct, frozen=True, eq=False):
    """One call."""

    future: JobFuture[Any]
    function: Function
    arguments: bytes


class Parcel(Struct, frozen=True):
    """Calls of one function, which become one array."""

    function: Function
    orders: list[Order]


def parcels(orders: Iterable[Order]) -> list[Parcel]:
    found: dict[tuple[str, str], Parcel] = {}
    for order in orders:
        function = order.function
        parcel = found.setdefault((function.name, function.digest), Parcel(function, []))
        parcel.orders.append(order)
    return list(found.values())


def first_batch(waiting: Sequence[Order]) -> int:
    """How many go together now: at least one."""
    total_bytes = 0
    for count, order in enumerate(waiting[:MOST_CALLS]):
        total_bytes += len(order.arguments)
        if count and total_bytes > FULL_BYTES:
            return count
    return min(len(waiting), MOST_CALLS)
