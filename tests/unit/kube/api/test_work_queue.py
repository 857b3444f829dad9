"""The queue of keys, in virtual time."""

import asyncio

import pytest

from rota.kube.api.work_queue import Rate, WorkQueue
from rota.patience.backoff import Backoff

pytestmark = [pytest.mark.covers("kube-5"), pytest.mark.virtual_time]


def queue(rate: Rate = Rate()) -> WorkQueue[str]:  # noqa: B008 – frozen
    return WorkQueue(Backoff(1.0, 60.0), rate, chance=lambda: 0.0)


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def test_in_the_order_of_adding_each_once() -> None:
    work = queue()
    for key in ("b", "a", "b", "c", "a"):
        work.add(key)
    assert len(work) == 3
    assert [await work.take() for _ in range(3)] == ["b", "a", "c"]
    assert len(work) == 0


async def test_what_changes_while_it_is_attended_to_comes_once_more() -> None:
    work = queue()
    work.add("a")
    assert await work.take() == "a"
    work.add("a")
    work.add("a")
    waiting = asyncio.ensure_future(work.take())
    await asyncio.sleep(1)
    assert not waiting.done(), "nobody else has it meanwhile"
    work.done("a")
    assert await waiting == "a"
    work.done("a")
    assert len(work) == 0


async def test_who_waits_is_woken() -> None:
    work = queue()
    takers = [asyncio.ensure_future(work.take()) for _ in range(2)]
    await asyncio.sleep(1)
    work.add("a")
    work.add("b")
    assert sorted(await asyncio.gather(*takers)) == ["a", "b"]


async def test_pauses_grow_until_it_goes_well() -> None:
    work = queue()
    pauses = []
    work.add("a")
    await work.take()
    for _ in range(4):
        began_s = now_s()
        work.retry("a")
        await work.take()
        pauses.append(now_s() - began_s)
    assert pauses == [1, 2, 4, 8]
    work.done("a")
    work.add("a")
    await work.take()
    began_s = now_s()
    work.retry("a")
    await work.take()
    assert now_s() - began_s == 1


async def test_a_change_ends_the_pause() -> None:
    work = queue()
    work.add("a")
    await work.take()
    work.retry("a")
    work.add("a")
    await work.take()
    assert now_s() == 0
    work.done("a")
    await asyncio.sleep(100)
    assert len(work) == 0, "the pause is forgotten"


async def test_a_change_while_it_fails_is_attended_to_at_once() -> None:
    work = queue()
    work.add("a")
    await work.take()
    work.add("a")
    work.retry("a")
    assert await work.take() == "a"
    assert now_s() == 0


async def test_of_two_times_the_earlier_counts() -> None:
    work = queue()
    work.add_after("a", 10)
    work.add_after("a", 3)
    work.add_after("a", 20)
    assert len(work) == 1
    await work.take()
    assert now_s() == 3


async def test_retries_of_all_keys_are_held_to_a_rate() -> None:
    work = queue(Rate(per_s=0.1, at_once=2))
    for number in range(4):
        work.add(str(number))
    for key in [await work.take() for _ in range(4)]:
        work.retry(key)
    times = []
    for _ in range(4):
        await work.take()
        times.append(now_s())
    assert times == [1, 1, 10, 20]


async def test_after_closing_nothing_comes_by_itself() -> None:
    work = queue()
    work.add_after("a", 1)
    work.close()
    await asyncio.sleep(10)
    assert len(work) == 0
