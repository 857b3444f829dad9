"""How long jobs run, learnt from those that ended."""

from __future__ import annotations

import random

import msgspec
import pytest

from rota.forecast.histogram import SLICES, Histogram, log2_fixed
from rota.forecast.run_times import RunTimeBook, RunTimeState
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import Resources
from rota.model.task import TaskSpec

MINUTE = 60_000
HOUR = 60 * MINUTE

pytestmark = pytest.mark.covers("time-1")


def template(user: str = "ada", limit_ms: int | None = HOUR, cpu: int = 1, tasks: int = 1) -> JobTemplate:
    spec = TaskSpec(requests=Resources(cpu_milli=1000 * cpu))
    return JobTemplate((TaskGroup(spec, tasks),), user=user, time_limit_ms=limit_ms)


def mean(quantiles: tuple[int, ...]) -> float:
    return sum(quantiles) / len(quantiles)


class TestHistogram:
    def test_equal_values_lose_nothing(self) -> None:
        histogram = Histogram()
        for _ in range(5):
            histogram.add(600_123)
        assert histogram.sixteenths() == (600_123,) * SLICES

    def test_slices_ascend_and_keep_the_mean_of_a_long_tail(self) -> None:
        rng = random.Random(1)
        values = [int(rng.lognormvariate(10, 2)) for _ in range(1000)]
        histogram = Histogram()
        for value in values:
            histogram.add(value)
        slices = histogram.sixteenths()
        assert list(slices) == sorted(slices)
        assert mean(slices) == pytest.approx(sum(values) / len(values), rel=0.001)

    def test_slices_are_near_the_quantiles(self) -> None:
        histogram = Histogram()
        for value in range(1000, 2000):
            histogram.add(value)
        assert histogram.sixteenths()[8] == pytest.approx(1531, rel=0.06)

    def test_what_was_long_ago_fades(self) -> None:
        histogram = Histogram()
        for value in [1000] * 2000 + [8000] * 6000:
            histogram.add(value)
        assert histogram.total < 2048
        assert histogram.sixteenths()[1] == 8000

    def test_a_tail_of_single_values_thins_out_but_stays(self) -> None:
        histogram = Histogram()
        for value in [*(1000 * 2**power for power in range(16)), *[1] * 3000]:
            histogram.add(value)
        assert sum(count for at, count in histogram.counts.items() if at) in range(4, 12)

    def test_nothing_gives_nothing(self) -> None:
        assert Histogram().sixteenths() == ()

    @pytest.mark.parametrize("value", [0, 1, 2, 3, 1000, 2**40 - 1, 2**40])
    def test_logarithms_never_fall(self, value: int) -> None:
        assert log2_fixed(value) <= log2_fixed(value + 1)
        assert log2_fixed(2 * value + 2) == log2_fixed(value + 1) + 256


class TestAnswers:
    def test_nothing_is_known_at_first(self) -> None:
        assert RunTimeBook().quantiles(template()) == ()

    def test_runs_with_the_same_limit_tell(self) -> None:
        book = RunTimeBook()
        for minutes in range(1, 21):
            book.ended(template(user=f"u{minutes}"), minutes * MINUTE, completed=True)
        known = book.quantiles(template(user="new"))
        assert list(known) == sorted(known)
        assert mean(known) == pytest.approx(10.5 * MINUTE, rel=0.01)

    def test_a_limit_nobody_gave_before_goes_by_the_share_that_jobs_use(self) -> None:
        book = RunTimeBook()
        for _ in range(10):
            book.ended(template(), HOUR // 4, completed=True)
        assert mean(book.quantiles(template(limit_ms=8 * HOUR))) == pytest.approx(2 * HOUR, rel=0.01)

    def test_without_a_limit_runs_without_one_tell(self) -> None:
        book = RunTimeBook()
        book.ended(template(), HOUR // 4, completed=True)
        assert book.quantiles(template(limit_ms=None)) == ()
        book.ended(template(limit_ms=None), 3 * HOUR, completed=True)
        assert mean(book.quantiles(template(limit_ms=None))) == 3 * HOUR

    def test_a_run_cut_at_its_limit_takes_all_of_it(self) -> None:
        book = RunTimeBook()
        book.ended(template(), HOUR + 500, completed=False)
        assert set(book.quantiles(template())) == {HOUR}

    def test_a_run_cut_before_its_limit_says_nothing(self) -> None:
        book = RunTimeBook()
        book.ended(template(), MINUTE, completed=False)
        book.ended(template(limit_ms=None), MINUTE, completed=False)
        assert book.state == RunTimeState()

    def test_no_answer_is_above_the_limit(self) -> None:
        rng = random.Random(2)
        book = RunTimeBook()
        for _ in range(500):
            limit_ms = rng.choice([10 * MINUTE, HOUR, 24 * HOUR])
            book.ended(template(limit_ms=limit_ms), rng.randrange(2 * limit_ms), completed=True)
        for limit_ms in (7, 10 * MINUTE, HOUR, 5 * HOUR):
            assert 0 < max(book.quantiles(template(limit_ms=limit_ms))) <= limit_ms

    def test_runs_of_no_time_are_runs(self) -> None:
        book = RunTimeBook()
        book.ended(template(limit_ms=0), 0, completed=True)
        assert set(book.quantiles(template(limit_ms=0))) == {0}


class TestLevels:
    """Whom to believe is learnt."""

    def test_users_who_repeat_themselves_are_known_by_their_own_runs(self) -> None:
        rng = random.Random(3)
        book = RunTimeBook()
        habits = {f"u{at}": 2**at * MINUTE for at in range(6)}
        for _ in range(400):
            user = rng.choice(list(habits))
            run_ms = int(habits[user] * rng.uniform(0.9, 1.1))
            book.ended(template(user, limit_ms=24 * HOUR), run_ms, completed=True)
        for user, usual_ms in habits.items():
            assert mean(book.quantiles(template(user, limit_ms=24 * HOUR))) == pytest.approx(
                usual_ms, rel=0.1
            )

    def test_where_users_say_nothing_the_limit_does(self) -> None:
        rng = random.Random(4)
        book = RunTimeBook()
        for _ in range(600):
            run_ms = int(rng.lognormvariate(13, 1.5))
            book.ended(template(f"u{rng.randrange(50)}", limit_ms=24 * HOUR), run_ms, completed=True)
        answers = {book.quantiles(template(f"u{at}", limit_ms=24 * HOUR)) for at in range(50)}
        assert len(answers) <= 5

    def test_a_user_who_changes_is_followed_by_the_last_two_runs(self) -> None:
        rng = random.Random(5)
        book = RunTimeBook()
        usual_ms = MINUTE
        for run in range(800):
            if run % 20 == 0:
                usual_ms = int(MINUTE * 2 ** rng.uniform(0, 9))
            book.ended(template(limit_ms=24 * HOUR), usual_ms, completed=True)
        assert book.quantiles(template(limit_ms=24 * HOUR)) == (usual_ms, usual_ms)

    def test_limits_that_are_always_used_up_are_the_answer(self) -> None:
        book = RunTimeBook()
        for run in range(200):
            # The same share of another limit each time, so that none is known for long.
            limit_ms = (run % 40 + 1) * MINUTE
            book.ended(template(limit_ms=limit_ms), limit_ms, completed=True)
        assert set(book.quantiles(template(limit_ms=77 * MINUTE))) == {77 * MINUTE}


class TestMemory:
    def test_classes_not_heard_of_for_long_are_forgotten(self) -> None:
        book = RunTimeBook(max_classes=9)
        for user in ("a", "b", "c", "d", "a"):
            book.ended(template(user, limit_ms=HOUR + ord(user)), MINUTE, completed=True)
        assert len(book.state.classes) == 9
        assert not any("/b" in key for key in book.state.classes)
        assert any("/a" in key for key in book.state.classes)

    def test_what_was_learnt_outlives_a_restart(self) -> None:
        rng = random.Random(6)
        first = RunTimeBook()
        runs = [(template(f"u{rng.randrange(4)}"), rng.randrange(HOUR)) for _ in range(200)]
        for kind, run_ms in runs[:100]:
            first.ended(kind, run_ms, completed=True)
        stored = msgspec.json.encode(first.state)
        second = RunTimeBook(msgspec.json.decode(stored, type=RunTimeState))
        for kind, run_ms in runs[100:]:
            assert first.quantiles(kind) == second.quantiles(kind)
            first.ended(kind, run_ms, completed=True)
            second.ended(kind, run_ms, completed=True)
        assert msgspec.json.encode(first.state) == msgspec.json.encode(second.state)
