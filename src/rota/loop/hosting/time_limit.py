"""Calls that may hang, at the price of the time limit at most."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import NamedTuple

from rota.loop.live.side_threads import Interrupt, interrupt


class Escaped(Exception):
    """The call raised what callers can't be asked to handle: what ends processes, as SystemExit
    does, or an error that fails when it is shown."""


class TimeLimit:
    """Runs calls one at a time in one thread, which is reused. A call that takes too long raises
    TimeoutError; its thread is stopped if possible, and abandoned if not.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._worker: _Worker | None = None

    def __call__(self, call: Callable[[], object]) -> object:
        if self._worker is None:
            self._worker = _Worker()
            self._worker.start()
        outcome = self._worker.ask(call, self._seconds)
        if outcome is None:
            self._worker.interrupt()
            self._worker = None
            raise TimeoutError(f"took longer than {self._seconds:g} s")
        if outcome.error is None:
            return outcome.value
        raise outcome.error

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is not None:
            self._worker.dismiss()
            self._worker = None


class _Outcome(NamedTuple):
    value: object
    error: Exception | None


class _Worker(Thread):
    def __init__(self) -> None:
        super().__init__(name="rota-time-limit", daemon=True)
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[_Outcome] = SimpleQueue()

    def run(self) -> None:
        with suppress(Interrupt):
            while (call := self._calls.get()) is not None:
                self._outcomes.put(_outcome_of(call))

    def ask(self, call: Callable[[], object], seconds: float) -> _Outcome | None:
        self._calls.put(call)
        try:
            return self._outcomes.get(timeout=seconds)
        except Empty:
            return None

    def interrupt(self) -> None:
        interrupt(self)
        # In this order: the thread can't end before the interrupt has reached it.
        self.dismiss()

    def dismiss(self) -> None:
        self._calls.put(None)


def _outcome_of(call: Callable[[], object]) -> _Outcome:
    try:
        return _Outcome(call(), None)
    except BaseException as error:
        return _Outcome(None, _harmless(error))


def _harmless(error: BaseException) -> Exception:
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:
        return Escaped(f"raised {name}, which cannot be shown")
    return error if isinstance(error, Exception) else Escaped(f"raised {name}: {text}")
