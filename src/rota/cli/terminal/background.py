"""A stream that is read in a background thread. Ctrl-C interrupts the code that waits for it, and not the
stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, Queue
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")

_AHEAD = 64
"""Bits that may wait: the sender goes no faster than they are used."""


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class Background(Generic[T]):
    """Iteration may be interrupted, and continued later."""

    def __init__(self, source: Iterable[T]) -> None:
        self._bits: Queue[T | _End] = Queue(_AHEAD)
        Thread(target=self._read, args=(source,), daemon=True).start()

    def _read(self, source: Iterable[T]) -> None:
        error: BaseException | None = None
        try:
            for bit in source:
                self._bits.put(bit)
        except Exception as raised:
            error = raised
        self._bits.put(_End(error))

    def __iter__(self) -> Iterator[T]:
        while True:
            bit = self._bits.get()
            if isinstance(bit, _End):
                self._bits.put(bit)
                if bit.error is not None:
                    raise bit.error
                return
            yield bit

    def within(self, seconds: float) -> list[T]:
        """What has come, after waiting so long for the first bit at most."""
        found: list[T] = []
        try:
            while True:
                bit = self._bits.get_nowait() if found else self._bits.get(timeout=seconds)
                if isinstance(bit, _End):
                    self._bits.put(bit)
                    if bit.error is not None and not found:
                        raise bit.error
                    return found
                found.append(bit)
        except Empty:
            return found
