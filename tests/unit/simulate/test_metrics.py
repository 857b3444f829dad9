"""A replay in numbers."""

from __future__ import annotations

from typing import Any

import pytest

from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName
from rota.simulate.metrics import Metrics, metrics_of
from rota.simulate.result import JobResult, Sample, SimResult, Stretch

MINUTE_MS = 60_000


def result_of(
    name: str = "j", *, arrival: int = 0, start: int | None = 0, end: int | None = 60, **fields: Any
) -> JobResult:
    """Times in seconds."""
    stretches = () if start is None else (Stretch(0, NodeName("n"), start * 1000, (end or start) * 1000),)
    given = {"queue": "q", "project": "p", "user": "u", "tasks": 1, "cpu_milli": 1000, "gpu_milli": 0}
    return JobResult(
        JobId(name),
        **{
            **given,
            "arrival_ms": arrival * 1000,
            "run_ms": 60_000,
            "start_ms": None if start is None else start * 1000,
            "end_ms": None if end is None else end * 1000,
            "stretches": stretches,
            **fields,
        },
    )


def measured(*jobs: JobResult, samples: tuple[Sample, ...] = (), cpu: int = 4000, gpu: int = 0) -> Metrics:
    return metrics_of(SimResult("w", "p", 0, (NodeName("n"),), cpu, gpu, jobs, samples, cycles=3))


def test_of_nothing_there_is_nothing_to_measure() -> None:
    assert measured() == Metrics(jobs=0, started=0, cycles=3)


def test_of_what_never_started_only_the_number_is_known() -> None:
    assert measured(result_of(start=None, end=None)) == Metrics(jobs=1, started=0, cycles=3)


def test_utilisation_is_of_the_time_from_the_first_arrival_to_the_last_end() -> None:
    samples = (
        Sample(10_000, 0, 1, 4000, 500),
        Sample(20_000, 0, 1, 1000, 0),
        Sample(50_000, 0, 0, 0, 0),
    )
    found = measured(result_of(arrival=10, start=10, end=50), samples=samples, gpu=1000)
    assert found.utilisation == pytest.approx((4000 * 10 + 1000 * 30) / (4000 * 40))
    assert found.gpu_allocation == pytest.approx(500 * 10 / (1000 * 40))
    assert found.makespan_ms == 40_000


def test_waits() -> None:
    found = measured(*(result_of(str(wait), start=wait, end=wait + 60) for wait in range(100)))
    assert (found.mean_wait_ms, found.median_wait_ms) == (49_500, 49_500)
    assert (found.p95_wait_ms, found.max_wait_ms) == (94_000, 99_000)


def test_of_few_waits_nearly_all_are_all() -> None:
    found = measured(*(result_of(str(wait), start=wait, end=100) for wait in (1, 2, 3)))
    assert found.p95_wait_ms == 3000


class TestSlowdown:
    def test_is_bounded_for_short_jobs(self) -> None:
        """Two seconds of work after 28 of waiting count as 30 over 10."""
        assert measured(result_of(start=28, end=30)).mean_bounded_slowdown == 3

    def test_is_1_at_least(self) -> None:
        assert measured(result_of(start=1, end=2)).mean_bounded_slowdown == 1

    def test_is_of_jobs_that_ended(self) -> None:
        assert measured(result_of(start=1, end=None)).mean_bounded_slowdown is None


class TestFairness:
    def test_is_1_if_all_users_are_slowed_down_alike(self) -> None:
        found = measured(result_of(user="a", start=60, end=120), result_of(user="b", start=10, end=20))
        assert found.fairness == 1

    def test_is_jains_index(self) -> None:
        """Mean slowdowns of 1 and 3: (1 + 3)² / (2 · (1 + 9))."""
        found = measured(
            result_of(user="a", start=0, end=60),
            result_of(user="b", start=60, end=120),
            result_of(user="b", start=180, end=240),
        )
        assert found.fairness == pytest.approx(0.8)

    def test_takes_two_users(self) -> None:
        assert measured(result_of(), result_of()).fairness is None

    def test_users_of_two_projects_are_two(self) -> None:
        assert measured(result_of(project="a"), result_of(project="b")).fairness == 1


@pytest.mark.covers("time-2")
class TestPromises:
    def test_are_kept_by_starting_not_later(self) -> None:
        found = measured(
            result_of(start=5, promised_ms=5000),
            result_of(start=3, promised_ms=5000),
            result_of(start=6, promised_ms=5000),
            result_of(start=None, end=None, promised_ms=5000),
            result_of(),
        )
        assert (found.promises_given, found.promises_kept) == (4, 2)

    def test_are_about_the_first_start(self) -> None:
        lost = Stretch(0, NodeName("n"), 4000, 6000, evicted=True)
        again = Stretch(0, NodeName("n"), 9000, 69_000)
        assert measured(result_of(start=9, promised_ms=5000, stretches=(lost, again))).promises_kept == 1


@pytest.mark.covers("time-1")
class TestEstimates:
    def told(self, start: int, expected: int, bound: int) -> JobResult:
        first = Estimate(0, expected * 1000, bound * 1000)
        later = Estimate(30_000, start * 1000, start * 1000)
        return result_of(start=start, end=start + 60, estimates=(first, later))

    def test_only_the_first_counts(self) -> None:
        found = measured(self.told(100, 130, 90))
        assert (found.estimates, found.bounds_held, found.median_error_ms) == (1, 0, 30_000)

    def test_bounds_hold_if_the_start_is_not_later(self) -> None:
        found = measured(self.told(10, 10, 10), self.told(11, 10, 10))
        assert found.bounds_held == 0.5

    def test_errors_are_of_those_who_waited_for_over_a_minute(self) -> None:
        found = measured(
            self.told(60, 60_000, 90),
            self.told(61, 121, 90),
            self.told(100, 700, 90),
            self.told(100, 701, 90),
        )
        assert found.within_1_min == pytest.approx(1 / 3)
        assert found.within_10_min == pytest.approx(2 / 3)
        assert found.median_error_ms == 600_000


def test_preemptions_add_up() -> None:
    assert measured(result_of(preemptions=2), result_of(preemptions=1)).preemptions == 3
