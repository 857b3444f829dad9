"""Work beside the event loop, in threads that can be abandoned.

A server that is told to stop doesn't wait for a decision that takes minutes: what runs is interrupted, and a
thread that can't be (it is inside a call of C) doesn't keep the process from ending.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

SWITCHES_AFTER_S = 0.0005
"""Usual are 5 ms: each start and each answer would wait that long for a thread that decides."""

LITTLE = 500
"""Jobs, or things that take as long as they do: some milliseconds."""

P = ParamSpec("P")
T = TypeVar("T")


def take_turns_often() -> None:
    """For processes in which threads work beside the event loop."""
    sys.setswitchinterval(SWITCHES_AFTER_S)


async def beside(amount: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """In another thread if it is much; little isn't worth the way there."""
    if amount <= LITTLE:
        return call(*args, **kwargs)
    return await asyncio.to_thread(call, *args, **kwargs)


class Interrupt(BaseException):
    """No Exception: code that handles those must not outlive its time by it."""


def interrupt(thread: Thread) -> None:
    """Ends a loop of Python code. One that waits inside C code goes on waiting, at no cost."""
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupt))


class Aside(Executor):
    """This many calls at a time; the others follow in order of arrival."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._names = [f"{name}-{number}" for number in range(threads)]
        self._threads: list[Thread] = []
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], object]] | None] = SimpleQueue()
        self._is_over = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._is_over:
            raise RuntimeError("nothing is begun any more")
        future: Future[T] = Future()
        self._calls.put((future, lambda: fn(*args, **kwargs)))
        if len(self._threads) < len(self._names):
            name = self._names[len(self._threads)]
            thread = Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def _run(self) -> None:
        with suppress(Interrupt):
            while (asked := self._calls.get()) is not None:
                future, call = asked
                if future.set_running_or_notify_cancel():
                    _carry_out(future, call)
                # A thread that waits for the next call must not hold what the last one looked at.
                del asked, future, call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Running calls are interrupted, and waiting ones never begin. It doesn't wait for either, whatever
        the arguments."""
        self._is_over = True
        while not self._calls.empty():
            if (asked := self._calls.get()) is not None:
                asked[0].cancel()
        for thread in self._threads:
            if thread.is_alive():
                interrupt(thread)
            self._calls.put(None)


def _carry_out(future: Future[Any], call: Callable[[], object]) -> None:
    try:
        result = call()
    except Exception as error:
        future.set_exception(error)
    except BaseException as error:
        future.set_exception(RuntimeError(f"interrupted by {type(error).__name__}"))
        raise
    else:
        future.set_result(result)
