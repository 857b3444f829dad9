from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.simulate.report.axes import (
    Axis,
    count_axis,
    log_axis,
    moment_axis,
    percent_axis,
    round_duration_ms,
    signed_axis,
)

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000
MAY_1_2024_NOON_MS = 1_714_564_800_000


def labels(axis: Axis) -> list[str]:
    return [f"{tick.label}/{tick.second_line}" if tick.second_line else tick.label for tick in axis.ticks]


def test_counts_end_at_a_round_number() -> None:
    assert labels(count_axis(1234)) == ["0", "500", "1,000", "1,500"]
    assert labels(count_axis(3)) == ["0", "1", "2", "3"]
    assert labels(count_axis(0)) == ["0", "1"]


def test_what_lies_beyond_an_end_is_drawn_at_it() -> None:
    axis = percent_axis(80)
    assert [axis.place(value) for value in (0.5, 0.9, 1.5)] == pytest.approx([0, 0.5, 1])


def test_hours_of_days_without_a_date() -> None:
    assert labels(moment_axis(20 * HOUR_MS, 34 * HOUR_MS, 0)) == [
        "20:00/day 1",
        "22:00",
        "00:00/day 2",
        "02:00",
        "04:00",
        "06:00",
        "08:00",
        "10:00",
    ]


def test_hours_of_a_date_are_those_of_utc() -> None:
    axis = moment_axis(0, 30 * HOUR_MS, MAY_1_2024_NOON_MS)
    assert labels(axis) == ["12:00/1 May", "18:00", "00:00/2 May", "06:00", "12:00", "18:00"]
    assert axis.ticks[2].value == 12 * HOUR_MS


def test_days_and_weeks() -> None:
    assert labels(moment_axis(0, 4 * DAY_MS, 0)) == ["day 1", "day 2", "day 3", "day 4", "day 5"]
    assert labels(moment_axis(0, 40 * DAY_MS, MAY_1_2024_NOON_MS))[:2] == ["6 May/2024", "13 May"], "Mondays"


def test_months_and_years() -> None:
    assert labels(moment_axis(0, 300 * DAY_MS, MAY_1_2024_NOON_MS)) == [
        "Jul/2024",
        "Sep",
        "Nov",
        "Jan/2025",
    ]
    assert labels(moment_axis(0, 3000 * DAY_MS, MAY_1_2024_NOON_MS))[:2] == ["2026", "2028"]


@given(
    low_ms=st.integers(-DAY_MS, 10 * DAY_MS),
    span_ms=st.integers(0, 3650 * DAY_MS),
    epoch_ms=st.sampled_from([0, MAY_1_2024_NOON_MS]),
)
def test_ticks_of_any_period_lie_in_it_and_are_few(low_ms: int, span_ms: int, epoch_ms: int) -> None:
    axis = moment_axis(low_ms, low_ms + span_ms, epoch_ms)
    values = [tick.value for tick in axis.ticks]
    assert values == sorted(set(values))
    assert len(values) <= 9
    assert all(axis.low <= value <= axis.high for value in values)


def test_a_period_as_long_as_a_job_that_never_ends() -> None:
    assert len(moment_axis(0, 2**60, MAY_1_2024_NOON_MS).ticks) <= 9
    assert len(moment_axis(0, 2**60, 0).ticks) <= 9


def test_durations_on_a_logarithmic_axis() -> None:
    axis = log_axis(50 * MINUTE_MS)
    assert labels(axis) == ["1 s", "10 s", "1 min", "10 min", "1 h"]
    assert axis.place(0) == 0
    assert axis.place(10_000) == pytest.approx(0.281, abs=0.001)
    assert labels(log_axis(0, shortest_ms=MINUTE_MS))[0] == "1 min"


def test_errors_go_either_way() -> None:
    axis = signed_axis(30 * MINUTE_MS)
    assert labels(axis) == ["−1 h", "−10 min", "−1 min", "0", "+1 min", "+10 min", "+1 h"]
    assert axis.place(0) == 0.5
    assert axis.place(-MINUTE_MS) == pytest.approx(1 - axis.place(MINUTE_MS))


def test_round_durations() -> None:
    assert round_duration_ms(61_000) == 2 * MINUTE_MS
    assert round_duration_ms(101 * DAY_MS) == 200 * DAY_MS
