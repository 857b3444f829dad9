"""No time passes, the seed chooses the order, and what dies does nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

import pytest

from rota.clock import SystemClock
from tests.faults import event_loop
from tests.faults.event_loop import Endless, Life, VirtualLoop, context_of

T = TypeVar("T")


def run(test: Callable[[VirtualLoop], Awaitable[T]], seed: int = 1) -> T:
    loop = VirtualLoop(Random(seed), lambda: 0.5)
    try:
        return loop.run_until_complete(test(loop))
    finally:
        loop.lay_to_rest()


def test_a_day_takes_no_time() -> None:
    async def test(loop: VirtualLoop) -> float:
        await asyncio.sleep(86_400)
        return loop.time()

    assert run(test) == 86_400


def test_timeouts_come_when_they_should() -> None:
    async def test(loop: VirtualLoop) -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.Event().wait()
        return loop.time()

    assert run(test) == 3


def test_the_seed_chooses_the_order() -> None:
    async def test(loop: VirtualLoop) -> tuple[int, ...]:
        order: list[int] = []

        async def note(number: int) -> None:
            order.append(number)

        await asyncio.gather(*map(note, range(6)))
        return tuple(order)

    assert run(test, 1) == run(test, 1)
    assert len({run(test, seed) for seed in range(10)}) > 5


def test_work_of_threads_is_done_in_the_loop_and_takes_a_while() -> None:
    async def test(loop: VirtualLoop) -> tuple[float, float, str]:
        began: list[float] = []

        def work() -> str:
            began.append(loop.time())
            return "done"

        result = await asyncio.to_thread(work)
        return began[0], loop.time(), result

    assert run(test) == (0.5, 1.0, "done")


def test_failures_of_threads_reach_whoever_waits() -> None:
    async def test(loop: VirtualLoop) -> None:
        def work() -> None:
            raise KeyError("gone")

        with pytest.raises(KeyError):
            await asyncio.to_thread(work)

    run(test)


def test_a_killed_process_does_nothing_more_not_even_clean_up() -> None:
    done: list[str] = []

    async def server() -> None:
        try:
            done.append("began")
            await asyncio.sleep(10)
            done.append("went on")
        finally:
            done.append("cleaned up")

    async def test(loop: VirtualLoop) -> list[str]:
        life = Life("server", SystemClock())
        loop.create_task(server(), context=context_of(life))
        await asyncio.sleep(1)
        life.is_over = True
        await asyncio.sleep(100)
        return list(done)

    assert run(test) == ["began"]


def test_it_can_die_between_any_two_steps() -> None:
    async def test(loop: VirtualLoop) -> int:
        life = Life("server", SystemClock())
        steps = 0

        async def server() -> None:
            nonlocal steps
            while True:
                steps += 1
                await asyncio.sleep(0)

        def kill() -> None:
            life.is_over = True

        loop.create_task(server(), context=context_of(life))
        loop.after_steps(7, kill)
        await asyncio.sleep(1)
        return steps

    assert 0 < run(test) <= 8


def test_going_round_in_circles_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MOST_STEPS", 1000)

    async def test(loop: VirtualLoop) -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Endless):
        run(test)
