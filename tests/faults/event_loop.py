"""An event loop in which no time passes: when nothing is left to do, it is the next timer's time already.

What is ready runs in an order that the seed chooses, and so does what production code hands to threads: it is
done in the loop, a little later. The same seed gives the same order, always.

Callbacks belong to the life in which they were asked for. When that ends (a process was killed), none of them
runs any more: no `finally`, no handler, as with the real thing.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import Any, TypeVar, TypeVarTuple

from rota.clock import CLOCK, Clock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MOST_STEPS = 1_000_000
"""Of one run: whoever needs more goes round in circles."""


class Endless(Exception):
    """Something goes on and on without time passing, or far longer than anything should."""


class Life:
    """Of a process: what it began ends with it."""

    def __init__(self, name: str, clock: Clock) -> None:
        """`clock`: of its machine."""
        self.name = name
        self.clock = clock
        self.is_over = False


LIFE: contextvars.ContextVar[Life | None] = contextvars.ContextVar("life", default=None)
OUTSIDE = contextvars.Context()
"""Of callbacks that belong to no process: networks, disks, users."""


def context_of(life: Life) -> contextvars.Context:
    context = contextvars.Context()
    context.run(LIFE.set, life)
    context.run(CLOCK.set, life.clock)
    return context


class _OrderedTask(asyncio.Task[Any]):
    """asyncio keeps tasks in sets here and there; by their addresses, their order would be chance."""

    count = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _OrderedTask.count += 1
        self._order = _OrderedTask.count
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._order


class VirtualLoop(asyncio.BaseEventLoop):
    def __init__(self, chance: Random, thread_delay_s: Callable[[], float]) -> None:
        super().__init__()
        self.steps = 0
        self.after_thread: Callable[[], None] = lambda: None
        """Called when a thread is done, before anybody learns what came of it."""
        self.exceptions: list[dict[str, Any]] = []
        """What nobody caught."""
        self._chance = chance
        self._thread_delay_s = thread_delay_s
        self._now_s = 0.0
        self._handles: list[tuple[asyncio.Handle, Life | None]] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Life | None]] = []
        self._timer_count = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self._at_steps: list[tuple[int, Callable[[], None]]] = []
        self._undone: list[asyncio.Handle] = []
        """Of lives that are over."""
        self._is_resting = False
        _OrderedTask.count = 0
        self.set_task_factory(self._task)  # type: ignore[arg-type]
        self.set_exception_handler(lambda _, context: self.exceptions.append(context))

    def time(self) -> float:
        return self._now_s

    # -- what is to be done

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        self._handles.append((handle, context.get(LIFE)))
        return handle

    # asyncio's own puts it where nobody looks here: into its list of what is ready.
    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, handle, context.get(LIFE)))
        return handle

    def run_in_executor(self, executor: object, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Begins a little later, and is known to be done a little after that: its process may end before,
        between and after."""
        future: asyncio.Future[T] = self.create_future()

        def begin() -> None:
            try:
                told = partial(future.set_result, func(*args))
            except Exception as error:
                told = partial(future.set_exception, error)
            self.call_later(self._thread_delay_s(), finish, told)

        def finish(tell: Callable[[], None]) -> None:
            self.after_thread()
            if not future.done():
                tell()

        self.call_later(self._thread_delay_s(), begin)
        return future

    def _task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T], **kwargs: Any
    ) -> asyncio.Task[T]:
        task = _OrderedTask(coroutine, loop=loop, **kwargs)
        self._tasks.append(task)
        return task

    def after_steps(self, count: int, callback: Callable[[], None]) -> None:
        """Between two steps, wherever those after it would lead."""
        self._at_steps.append((self.steps + count, callback))

    # -- doing it

    def _run_once(self) -> None:
        """Called by asyncio again and again."""
        if not self._handles:
            self._jump()
        while self._timers and self._timers[0][0] <= self._now_s:
            _, _, timer, life = heapq.heappop(self._timers)
            self._handles.append((timer, life))
        if not self._handles:
            return
        # The last takes the place of the chosen one: cheap, and as good an order as any.
        at = int(self._chance.random() * len(self._handles))
        self._handles[at], self._handles[-1] = self._handles[-1], self._handles[at]
        handle, life = self._handles.pop()
        if handle.cancelled():
            return
        if life is not None and life.is_over and not self._is_resting:
            self._undone.append(handle)
            return
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Endless(f"{MOST_STEPS:,} steps until {self._now_s:.3f} s, and no end")
        handle._run()
        for at, callback in [one for one in self._at_steps if one[0] <= self.steps]:
            self._at_steps.remove((at, callback))
            callback()

    def _jump(self) -> None:
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if self._timers:
            self._now_s = max(self._now_s, self._timers[0][0])

    def lay_to_rest(self) -> None:
        """After the last step: whatever still waits is ended, so that nothing is left behind. What comes of
        that is of no interest any more."""
        self._is_resting = True
        self.steps = 0
        self._timers.clear()
        self._handles += [(handle, None) for handle in self._undone]
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            self.run_until_complete(asyncio.wait(left, timeout=1))
        self.run_until_complete(self.shutdown_asyncgens())
        # A generator that nobody held any more is closed by a task of its own, in its turn.
        while self._handles:
            self.run_until_complete(asyncio.sleep(0))
        self.close()

    def _process_events(self, _: object) -> None:
        """There are no sockets."""

    def _write_to_self(self) -> None:
        """There are no other threads."""
