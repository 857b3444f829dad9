"""When a client asks again, and when it leaves a server alone."""

import pytest

from rota.sdk.errors import Conflict, TooManyRequests, Unreachable
from rota.sdk.patience import Breaker, Retries

LOST = Unreachable("gone")


def test_pauses_double_up_to_the_longest() -> None:
    retries = Retries(attempts=9, first_s=1, longest_s=5)
    assert [retries.pause_s(failures, LOST, 0) for failures in (1, 2, 3, 4, 8)] == [1, 2, 4, 5, 5]


@pytest.mark.covers("job-6")
def test_chance_shortens_a_pause_by_up_to_a_half() -> None:
    retries = Retries(attempts=9, first_s=1, longest_s=5)
    assert [retries.pause_s(2, LOST, chance) for chance in (0, 0.5, 1)] == [2, 1.5, 1]


def test_giving_up() -> None:
    retries = Retries(attempts=3, first_s=1, longest_s=5)
    assert retries.pause_s(3, LOST, 0) is None
    assert retries.pause_s(1, Conflict("no"), 0) is None
    assert retries.pause_s(1, TooManyRequests("slowly", retry_after_s=6), 0) is None
    assert retries.pause_s(1, TooManyRequests("slowly", retry_after_s=4), 0) == 4


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.covers("job-6")
def test_a_breaker_lets_one_try_after_a_while_and_closes_when_it_succeeds() -> None:
    clock = Clock()
    breaker = Breaker(limit=2, first_pause_s=1, longest_pause_s=3, clock=clock)
    breaker.failed()
    breaker.admit()
    breaker.failed()
    with pytest.raises(Unreachable, match="2 times in a row") as caught:
        breaker.admit()
    assert caught.value.retry_after_s == 1
    clock.now_s = 1
    breaker.admit()
    with pytest.raises(Unreachable):  # one tries; the others wait for it
        breaker.admit()
    breaker.succeeded()
    breaker.admit()
    breaker.admit()


def test_each_failed_try_doubles_the_pause() -> None:
    clock = Clock()
    breaker = Breaker(limit=1, first_pause_s=1, longest_pause_s=3, clock=clock)
    pauses_s = []
    for _ in range(4):
        breaker.failed()
        with pytest.raises(Unreachable) as caught:
            breaker.admit()
        pauses_s.append(caught.value.retry_after_s)
        clock.now_s += 10
        breaker.admit()
    assert pauses_s == [1, 2, 3, 3]
