"""A breaker opens after failures in a row, lets one try after a while, and closes when that one succeeds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rota.patience.backoff import Backoff
from rota.patience.breaker import Breaker, BreakerState
from rota.patience.guard import Guard

NEW = Breaker(limit=3, pauses=Backoff(first_s=1.0, longest_s=8.0))


def failed(breaker: Breaker, times: int, now_s: float = 0.0) -> Breaker:
    for _ in range(times):
        breaker = breaker.failed(now_s)
    return breaker


def test_a_few_failures_do_no_harm() -> None:
    breaker = failed(NEW, 2)
    assert breaker.state(0.0) is BreakerState.CLOSED
    assert breaker.wait_s(0.0) == 0.0
    assert failed(breaker.succeeded(), 2).state(0.0) is BreakerState.CLOSED


def test_too_many_in_a_row_open_it_for_a_while() -> None:
    breaker = failed(NEW, 3, now_s=10.0)
    assert breaker.state(10.5) is BreakerState.OPEN
    assert breaker.wait_s(10.25) == 0.75
    assert breaker.state(11.0) is BreakerState.HALF_OPEN
    assert breaker.wait_s(11.0) == 0.0


def test_then_one_tries_and_others_wait_for_it() -> None:
    breaker = failed(NEW, 3).asked(1.0)
    assert breaker.state(1.5) is BreakerState.OPEN
    assert breaker.succeeded().state(1.5) is BreakerState.CLOSED


def test_each_vain_try_doubles_the_while() -> None:
    breaker, now_s, waits = failed(NEW, 3), 0.0, []
    for _ in range(5):
        waits.append(breaker.wait_s(now_s))
        now_s += waits[-1]
        breaker = breaker.asked(now_s).failed(now_s)
    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0]


@given(st.lists(st.tuples(st.sampled_from(["ask", "fail", "succeed"]), st.floats(0.0, 20.0)), max_size=60))
def test_whatever_happens_nobody_waits_longer_than_the_longest_pause(steps: list[tuple[str, float]]) -> None:
    breaker, now_s = NEW, 0.0
    for what, passes_s in steps:
        now_s += passes_s
        if what == "ask" and breaker.wait_s(now_s) <= 0:
            breaker = breaker.asked(now_s)
        elif what == "fail":
            breaker = breaker.failed(now_s)
        elif what == "succeed":
            breaker = breaker.succeeded()
            assert breaker.state(now_s) is BreakerState.CLOSED
        assert 0.0 <= breaker.wait_s(now_s) <= 8.0
        assert (breaker.wait_s(now_s) > 0) == (breaker.state(now_s) is BreakerState.OPEN)


def test_of_many_who_ask_at_once_one_finds_out() -> None:
    now_s = 0.0
    guard = Guard(NEW, clock=lambda: now_s)
    for _ in range(3):
        assert guard.admit() == 0.0
        guard.failed()
    assert guard.admit() == 1.0
    now_s = 1.0
    assert guard.state is BreakerState.HALF_OPEN
    assert [guard.admit() for _ in range(3)] == [0.0, 1.0, 1.0]
    guard.succeeded()
    assert (guard.state, guard.failures) == (BreakerState.CLOSED, 0)
