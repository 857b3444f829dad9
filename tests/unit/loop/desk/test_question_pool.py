"""Questions: one of each user at a time, a few of all, each within its time."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from rota.control.errors import Unavailable
from rota.engine.budget import Budget
from rota.loop.desk.question_pool import OutOfTime, QuestionLimits, Questions, TimeBudget

pytestmark = pytest.mark.covers("trust-1")


class Held:
    """A question that is answered when the test says so."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, budget: Budget) -> str:
        self.begun.set()
        assert self.may_end.wait(30)
        return "answer"


async def begun(question: Held) -> None:
    async with asyncio.timeout(20):
        while not question.begun.is_set():
            await asyncio.sleep(0.005)


async def test_one_user_asks_one_thing_at_a_time_and_holds_up_nobody_else() -> None:
    questions = Questions(QuestionLimits(at_once=2))
    first, second, other = Held(), Held(), Held()
    asked = [asyncio.create_task(questions.ask("mallory", one)) for one in (first, second)]
    await begun(first)
    asked.append(asyncio.create_task(questions.ask("ada", other)))
    await begun(other)
    other.may_end.set()
    assert await asked[2] == "answer"
    assert not second.begun.is_set()
    first.may_end.set()
    await begun(second)
    second.may_end.set()
    assert await asyncio.gather(*asked) == ["answer"] * 3
    questions.close()


@pytest.mark.parametrize(
    ("limits", "users"),
    [
        (QuestionLimits(at_once=1, waiting_of_user=2), ["mallory"] * 3),
        (QuestionLimits(at_once=1, waiting=2), ["a", "b", "c"]),
    ],
    ids=["of one user", "of all"],
)
async def test_too_many_are_refused(limits: QuestionLimits, users: list[str]) -> None:
    questions, held = Questions(limits), Held()
    asked = [asyncio.create_task(questions.ask(user, held)) for user in users]
    await begun(held)
    with pytest.raises(Unavailable, match="too many questions"):
        await questions.ask(users[-1] if limits.waiting > 2 else "d", held)
    held.may_end.set()
    assert await asyncio.gather(*asked) == ["answer"] * 3
    assert await questions.ask("d", lambda _: "again") == "again"
    questions.close()


@pytest.mark.slow
async def test_one_that_takes_for_ever_is_interrupted_and_the_next_is_answered() -> None:
    def endless(budget: Budget) -> str:
        while True:
            time.sleep(0.001)

    questions = Questions(QuestionLimits(time_s=0.2, at_once=1))
    async with asyncio.timeout(20):
        with pytest.raises(OutOfTime, match="given up"):
            await questions.ask("ada", endless)
        assert await questions.ask("ada", lambda _: "answer") == "answer"
    questions.close()


@pytest.mark.slow
async def test_whoever_waits_for_others_too_long_is_told_so() -> None:
    questions, held = Questions(QuestionLimits(time_s=0.3, at_once=1)), Held()
    first = asyncio.create_task(questions.ask("mallory", held))
    await begun(held)
    async with asyncio.timeout(20):
        with pytest.raises(Unavailable, match="before this one"):
            await questions.ask("ada", held)
    held.may_end.set()
    await asyncio.gather(first, return_exceptions=True)
    questions.close()


def test_the_budget_is_spent_after_its_time() -> None:
    assert not TimeBudget(1000).is_spent
    short = TimeBudget(0.01)
    time.sleep(0.02)
    assert short.is_spent


async def test_whoever_answers_knows_the_budget() -> None:
    questions = Questions(QuestionLimits(time_s=1000))
    assert await questions.ask("ada", lambda budget: budget.is_spent) is False
    questions.close()


async def test_what_fails_fails_for_whoever_asked() -> None:
    def failing(budget: Budget) -> str:
        raise ValueError("it can't be")

    questions = Questions()
    with pytest.raises(ValueError, match="it can't be"):
        await questions.ask("ada", failing)
    questions.close()
