"""Expected starts and bounds that hold, learnt from starts that were told."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest

from rota.forecast.bounds import BoundsState, Case, Start, StartBook, first_open_ms
from rota.model.ids import JobId

MINUTE = 60_000
HOUR = 60 * MINUTE

pytestmark = pytest.mark.covers("time-1")


def case(wait_ms: int | None = HOUR, queue: str = "batch", size: int = 2, waited_ms: int = 0) -> Case:
    return Case(queue, size, wait_ms, waited_ms)


def replay(
    book: StartBook, cases: list[Case], wait_of: Callable[[int, Case], int], every_ms: int = 10 * MINUTE
) -> list[tuple[Case, Start, int]]:
    """Jobs that come in one after another and start when `wait_of` says; in the order of time."""
    events = sorted(
        event
        for at, one in enumerate(cases)
        for event in ((at * every_ms, 1, at), (at * every_ms + wait_of(at, one), 0, at))
    )
    told: dict[int, Start] = {}
    starts: list[tuple[Case, Start, int]] = []
    for now_ms, arrives, at in events:
        if arrives:
            told[at] = book.tell(JobId(str(at)), cases[at], now_ms)
        else:
            book.started(JobId(str(at)), now_ms)
            starts.append((cases[at], told[at], now_ms))
    return starts


def share(holds: list[bool]) -> float:
    return sum(holds) / len(holds)


class TestWithoutHistory:
    def test_the_plan_is_expected_and_the_bound_well_beyond(self) -> None:
        start = StartBook().look(case(HOUR), now_ms=5000)
        assert start.expected_ms == 5000 + HOUR
        assert 5000 + 3 * HOUR < start.bound_ms < 5000 + 6 * HOUR

    def test_without_a_plan_there_is_an_estimate_all_the_same(self) -> None:
        start = StartBook().look(case(None), now_ms=0)
        assert 0 < start.expected_ms < start.bound_ms

    def test_a_plan_in_the_past_is_one_for_now(self) -> None:
        assert StartBook().look(case(-HOUR), now_ms=HOUR).expected_ms == HOUR


class TestCoverage:
    def test_nine_of_ten_hold_in_every_class_of_queue_and_size(self) -> None:
        rng = random.Random(1)
        kinds = [(queue, size) for queue in ("batch", "gpu") for size in range(4)]
        chosen = [rng.choice(kinds) for _ in range(4000)]
        cases = [case(int(rng.lognormvariate(14, 1.5)), queue, size) for queue, size in chosen]

        def wait_of(_: int, one: Case) -> int:
            # Large jobs are overtaken, the other queue is slow and erratic.
            spread = 1.5 if one.queue == "gpu" else 0.5
            return int((one.planned_wait_ms or 0) * (1 + one.size) * rng.lognormvariate(0, spread))

        starts = replay(StartBook(), cases, wait_of)
        assert 0.88 <= share([start_ms <= told.bound_ms for _, told, start_ms in starts]) <= 0.92
        for kind in kinds:
            holds = [
                start_ms <= told.bound_ms for one, told, start_ms in starts if (one.queue, one.size) == kind
            ]
            assert share(holds) >= 0.85

    def test_half_start_before_they_are_expected(self) -> None:
        rng = random.Random(2)
        cases = [case(int(rng.lognormvariate(14, 1))) for _ in range(3000)]
        starts = replay(
            StartBook(), cases, lambda _, one: int(3 * (one.planned_wait_ms or 0) * rng.lognormvariate(0, 1))
        )
        assert 0.45 < share([start_ms <= told.expected_ms for _, told, start_ms in starts]) < 0.55

    def test_bounds_follow_when_everything_changes(self) -> None:
        rng = random.Random(3)

        def wait_of(at: int, one: Case) -> int:
            return int((one.planned_wait_ms or 0) * (10 if at >= 1500 else 1) * rng.lognormvariate(0, 0.5))

        starts = replay(StartBook(), [case(HOUR)] * 3000, wait_of)
        assert share([start_ms <= told.bound_ms for _, told, start_ms in starts]) > 0.86
        assert 0.85 < share([start_ms <= told.bound_ms for _, told, start_ms in starts[-1000:]]) < 0.95

    def test_what_has_no_plan_is_learnt_too(self) -> None:
        starts = replay(StartBook(), [case(None)] * 500, lambda at, _: (at % 10 + 1) * 10 * HOUR, 5 * HOUR)
        _, told, start_ms = starts[-1]
        told_ms = start_ms - (499 % 10 + 1) * 10 * HOUR
        assert 40 * HOUR < told.expected_ms - told_ms < 65 * HOUR


class TestPlansThatComeTrue:
    def test_they_are_told_as_they_are(self) -> None:
        book = StartBook()
        replay(book, [case(HOUR)] * 500, lambda _, one: one.planned_wait_ms or 0)
        assert book.look(case(HOUR), now_ms=0).expected_ms == HOUR

    def test_bounds_come_close_and_still_rise_quickly_afterwards(self) -> None:
        book = StartBook()
        replay(book, [case(HOUR)] * 3000, lambda _, one: one.planned_wait_ms or 0)
        tight = book.look(case(HOUR), now_ms=0)
        assert tight.bound_ms < 1.1 * HOUR
        starts = replay(book, [case(HOUR)] * 100, lambda _, one: 2 * (one.planned_wait_ms or 0), 5 * HOUR)
        assert share([start_ms <= told.bound_ms for _, told, start_ms in starts]) > 0.8


class TestFeedback:
    def test_who_is_overdue_counts_before_it_starts(self) -> None:
        book = StartBook()
        told = book.tell(JobId("a"), case(), now_ms=0)
        before = book.look(case(), now_ms=0)
        book.pass_time(told.bound_ms)
        assert book.look(case(), now_ms=0).expected_ms > before.expected_ms
        book.pass_time(told.bound_ms + 1)
        late = book.look(case(), now_ms=0)
        assert late.bound_ms - late.expected_ms > before.bound_ms - before.expected_ms

    def test_a_start_counts_once(self) -> None:
        book = StartBook()
        told = book.tell(JobId("a"), case(), now_ms=0)
        book.pass_time(told.bound_ms + 1)
        learnt = book.look(case(), now_ms=0)
        book.started(JobId("a"), told.bound_ms + 2)
        book.started(JobId("a"), told.bound_ms + 3)
        assert book.look(case(), now_ms=0) == learnt

    def test_a_job_that_was_withdrawn_teaches_nothing(self) -> None:
        book = StartBook()
        before = book.look(case(), now_ms=0)
        book.tell(JobId("a"), case(), now_ms=0)
        book.withdrawn(JobId("a"))
        book.withdrawn(JobId("never told"))
        book.pass_time(1000 * HOUR)
        assert book.look(case(), now_ms=0) == before

    def test_a_start_nobody_was_told_teaches_nothing(self) -> None:
        book = StartBook()
        book.started(JobId("a"), HOUR)
        assert book.state == BoundsState()

    def test_told_again_it_is_learnt_from_when_the_wait_has_doubled(self) -> None:
        book = StartBook()
        for minutes in range(64):
            book.tell(JobId("a"), case(100 * HOUR, waited_ms=minutes * MINUTE), minutes * MINUTE)
        told_at = [told.told_ms // MINUTE for told in book.state.told[JobId("a")]]
        assert told_at == [0, 1, 2, 4, 8, 16, 32]

    def test_long_waits_are_judged_apart(self) -> None:
        book = StartBook()
        long = case(HOUR, waited_ms=10 * HOUR)
        for at in range(100):
            book.tell(JobId(str(at)), long, now_ms=0)
            book.started(JobId(str(at)), 20 * HOUR)
        slow, fresh = book.look(long, now_ms=0), book.look(case(HOUR), now_ms=0)
        assert slow.expected_ms > 1.5 * fresh.expected_ms


class TestMemory:
    def test_the_oldest_tellings_are_no_longer_followed(self) -> None:
        book = StartBook(max_told=2)
        for name in "abc":
            book.tell(JobId(name), case(), now_ms=0)
        assert list(book.state.told) == ["b", "c"]

    def test_what_was_learnt_outlives_a_restart(self) -> None:
        rng = random.Random(4)
        first = StartBook()
        replay(first, [case(rng.randrange(HOUR)) for _ in range(100)], lambda *_: rng.randrange(2 * HOUR))
        first.tell(JobId("waits"), case(), now_ms=5000 * HOUR)
        second = StartBook(msgspec.json.decode(msgspec.json.encode(first.state), type=BoundsState))
        for book in (first, second):
            book.pass_time(6000 * HOUR)
        assert first.state == second.state
        assert not second.state.told[JobId("waits")][0].awaits_bound

    def test_terms_stay_within_a_factor_of_a_thousand(self) -> None:
        book = StartBook()
        for at in range(3000):
            book.tell(JobId(str(at)), case(MINUTE), now_ms=at)
        book.pass_time(10**15)
        assert max(abs(term.value) for term in book.state.bound.terms.values()) <= 7


@pytest.mark.covers("first-4")
def test_nothing_is_told_for_a_period_in_which_it_can_not_start() -> None:
    closed = ((0, HOUR), (HOUR + 10 * MINUTE, 2 * HOUR))
    assert first_open_ms(5 * MINUTE, closed) == HOUR
    assert first_open_ms(HOUR + 15 * MINUTE, closed[::-1]) == 2 * HOUR
    assert first_open_ms(2 * HOUR, closed) == 2 * HOUR
    book = StartBook()
    start = book.look(Case("batch", 2, 90 * MINUTE, closed=closed), 0)
    assert start.expected_ms == 2 * HOUR
    assert start.bound_ms >= 2 * HOUR
    assert book.tell(JobId("1"), Case("batch", 2, 90 * MINUTE, closed=closed), 0) == start
