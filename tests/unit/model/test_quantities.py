"""Amounts as people write them: read exactly, refused helpfully, written back."""

import math
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rota.model.quantities import (
    MAX_AMOUNT,
    CountOrPercent,
    QuantityError,
    format_bytes,
    format_cpu,
    format_duration,
    format_gpu,
    format_price,
    format_timestamp,
    parse_bytes,
    parse_count_or_percent,
    parse_cpu_milli,
    parse_duration_ms,
    parse_gpu_milli,
    parse_price_micro,
    parse_quantity,
    parse_timestamp_ms,
)

PARSERS: list[Callable[[object], object]] = [
    parse_bytes,
    parse_count_or_percent,
    parse_cpu_milli,
    parse_duration_ms,
    parse_gpu_milli,
    parse_price_micro,
    parse_quantity,
    parse_timestamp_ms,
]
amounts = st.integers(min_value=0, max_value=MAX_AMOUNT)
end_of_9999_ms = 253_402_300_799_999


@pytest.mark.parametrize(
    ("written", "milli"),
    [
        (2, 2000),
        ("2", 2000),
        (0.5, 500),
        ("0.5", 500),
        (".5", 500),
        ("5.", 5000),
        ("250m", 250),
        ("0.1m", 1),
        ("100u", 1),
        ("1e2", 100_000),
        ("+3", 3000),
        (" 1 ", 1000),
        (0, 0),
        ("-0", 0),
        (0.1, 100),
        (1.005, 1005),
        ("2k", 2_000_000),
    ],
)
def test_cpu_is_read_in_thousandths_of_a_core(written: object, milli: int) -> None:
    assert parse_cpu_milli(written) == milli


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (123, 123),
        ("64Gi", 64 * 2**30),
        ("64GiB", 64 * 2**30),
        ("512Mi", 512 * 2**20),
        ("1.5Ki", 1536),
        ("10G", 10**10),
        ("10GB", 10**10),
        ("3kB", 3000),
        ("3KB", 3000),
        ("7B", 7),
        ("1e9", 10**9),
        ("1E9", 10**9),
        (1e9, 10**9),
        ("1E", 10**18),
        ("0.5Ei", 2**59),
        ("128974848000m", 128_974_848),
        ("1m", 1),
        ("0.1", 1),
    ],
)
def test_bytes_are_read_with_the_suffixes_of_kubernetes_and_others(written: object, size: int) -> None:
    assert parse_bytes(written) == size


@pytest.mark.parametrize(
    ("written", "count"), [(3, 3), ("3", 3), ("10k", 10_000), ("1500m", 2), ("4Ki", 4096), ("1n", 1)]
)
def test_quantities_are_rounded_up_as_kubernetes_does(written: object, count: int) -> None:
    assert parse_quantity(written) == count


@pytest.mark.parametrize(
    ("written", "milli"), [(1, 1000), (2, 2000), (0.3, 300), ("300m", 300), ("30%", 300), ("100%", 1000)]
)
def test_gpus_are_shares_of_one_or_whole(written: object, milli: int) -> None:
    assert parse_gpu_milli(written) == milli


@pytest.mark.parametrize(
    ("written", "micro"),
    [("1.25", 1_250_000), (0.1, 100_000), ("0.0464000000", 46_400), (3, 3_000_000), ("0.0000166667", 17)],
)
def test_prices_are_read_to_the_nearest_millionth(written: object, micro: int) -> None:
    assert parse_price_micro(written) == micro


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (90, 90),
        ("90", 90),
        (0.5, 0.5),
        ("90s", 90),
        ("2h30m", 9000),
        ("1.5h", 5400),
        ("1d", 86_400),
        ("1w", 7 * 86_400),
        ("250ms", 0.25),
        ("1m5ms", 60.005),
        ("00:01:30", 90),
        ("100:00:00", 360_000),
        ("1-12:00:00", 129_600),
        ("1-12", 129_600),
        ("1-12:30", 131_400),
        ("0s", 0),
    ],
)
def test_durations_are_read_in_go_and_slurm_style(written: object, seconds: float) -> None:
    assert parse_duration_ms(written) == seconds * 1000


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        (0, 0),
        (1_700_000_000, 1_700_000_000_000),
        (1.5, 1500),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T02:00:01+02:00", 1000),
        ("1970-01-01t00:00:00.123456789z", 123),
        ("2026-05-01 12:00:00Z", 1_777_636_800_000),
    ],
)
def test_times_are_rfc_3339_or_seconds(written: object, ms: int) -> None:
    assert parse_timestamp_ms(written) == ms


def test_a_count_stays_itself_and_a_percentage_is_rounded_up() -> None:
    assert parse_count_or_percent(3).of(10) == 3
    assert parse_count_or_percent("3").of(10) == 3
    assert parse_count_or_percent("50%").of(5) == 3
    assert parse_count_or_percent("33.33%").of(3) == 1
    assert parse_count_or_percent("100%").of(7) == 7
    assert [str(parse_count_or_percent(written)) for written in (4, "50%", "12.50%")] == ["4", "50%", "12.5%"]


@pytest.mark.parametrize(
    ("parse", "written", "message"),
    [
        (parse_cpu_milli, -2, "negative amount -2; give 0 or more"),
        (parse_cpu_milli, "-250m", 'negative amount "-250m"; give 0 or more'),
        (parse_cpu_milli, math.nan, 'nan is not finite; write it like 2, 0.5 or "250m"'),
        (parse_cpu_milli, math.inf, 'inf is not finite; write it like 2, 0.5 or "250m"'),
        (parse_cpu_milli, True, 'true is not an amount of CPU; write it like 2, 0.5 or "250m"'),
        (parse_cpu_milli, None, 'nothing is not an amount of CPU; write it like 2, 0.5 or "250m"'),
        (parse_cpu_milli, [], 'a list is not an amount of CPU; write it like 2, 0.5 or "250m"'),
        (parse_cpu_milli, {}, 'a mapping is not an amount of CPU; write it like 2, 0.5 or "250m"'),
        (parse_cpu_milli, "two", '"two" is not an amount of CPU; write it like 2, 0.5 or "250m"'),
        (parse_cpu_milli, "٣", '"٣" is not an amount of CPU; write it like 2, 0.5 or "250m"'),
        (
            parse_cpu_milli,
            2**60,
            "1152921504606846976 is absurdly large; give at most 2^60 thousandths of a core",
        ),
        (parse_bytes, "1e999999999", '"1e999999999" is absurdly large; give at most 2^60 bytes'),
        (parse_bytes, 10**40, "a number of over 30 digits is absurdly large; give at most 2^60 bytes"),
        (parse_bytes, "2Ei", '"2Ei" is absurdly large; give at most 2^60 bytes'),
        (parse_bytes, "64gi", 'unknown unit "gi" in "64gi"; did you mean "Gi"?'),
        (parse_bytes, "1K", 'unknown unit "K" in "1K"; did you mean "k"?'),
        (parse_bytes, "64 parsecs", '"64 parsecs" is not an amount of memory or storage; '),
        (parse_bytes, "1x", 'unknown unit "x" in "1x"; write it like "64Gi", "512Mi" or "10G"'),
        (parse_bytes, "1e3Ki", '"1e3Ki" is not an amount of memory or storage; '),
        (parse_bytes, "1e-999999999", '"1e-999999999" is absurdly small; '),
        (
            parse_gpu_milli,
            1.5,
            "1.5 is more than one GPU but not whole; ask for a share of one GPU or for whole",
        ),
        (parse_gpu_milli, "130%", '"130%" is more than all; give 0% to 100%'),
        (parse_price_micro, "$1.25", '"$1.25" is not a price; '),
        (parse_price_micro, "1k", '"1k" is not a price; '),
        (parse_duration_ms, "12:30", '"12:30" could be hours or minutes; write "2h30m" or "2:30:00"'),
        (parse_duration_ms, "1:75:00", '"1:75:00" has more than 59 minutes or seconds; carry them over'),
        (parse_duration_ms, "30m2h", '"30m2h" is not a duration; '),
        (parse_duration_ms, "-5m", 'negative amount "-5m"; give 0 or more'),
        (parse_duration_ms, "", '"" is not a duration; '),
        (parse_timestamp_ms, "2026-05-01T12:00:00", '"2026-05-01T12:00:00" names no time zone; add "Z"'),
        (parse_timestamp_ms, "2026-13-01T12:00:00Z", '"2026-13-01T12:00:00Z" is not a real date or time: '),
        (
            parse_timestamp_ms,
            "1969-12-31T23:59:59Z",
            '"1969-12-31T23:59:59Z" is before 1970; give a later time',
        ),
        (parse_timestamp_ms, 1_700_000_000_000, "1700000000000 is after the year 9999; give seconds, not"),
        (parse_count_or_percent, "101%", '"101%" is more than all; give 0% to 100%'),
        (parse_count_or_percent, "-1%", 'negative amount "-1%"; give 0 or more'),
        (parse_count_or_percent, 1.5, '1.5 is not a whole number; write it like 3 or "50%"'),
        (parse_count_or_percent, "0.001%", '"0.001%" is too fine; give at most two decimals'),
        (parse_count_or_percent, "%", '"%" is not a count or a percentage; '),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_would_be_right(
    parse: Callable[[object], object], written: object, message: str
) -> None:
    with pytest.raises(QuantityError) as refusal:
        parse(written)
    assert str(refusal.value).startswith(message)
    assert str(refusal.value) == f"{refusal.value.problem}; {refusal.value.remedy}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (format_cpu(2500), "2.5"),
        (format_cpu(2000), "2"),
        (format_cpu(1), "0.001"),
        (format_cpu(-500), "-0.5"),
        (format_gpu(300), "0.3"),
        (format_bytes(64 * 2**30), "64Gi"),
        (format_bytes(3 * 2**29), "1.5Gi"),
        (format_bytes(10**10), "10G"),
        (format_bytes(1_000_001), "1000001"),
        (format_bytes(999), "999"),
        (format_bytes(0), "0"),
        (format_bytes(-(2**20)), "-1Mi"),
        (format_duration(0), "0s"),
        (format_duration(90_000), "1m30s"),
        (format_duration(129_600_000), "1d12h"),
        (format_duration(9_000_250), "2h30m250ms"),
        (format_duration(-1000), "-1s"),
        (format_price(1_250_000), "1.25"),
        (format_price(500_000), "0.50"),
        (format_price(46_400), "0.0464"),
        (format_timestamp(1_777_636_800_000), "2026-05-01T12:00:00Z"),
        (format_timestamp(1_777_636_800_250), "2026-05-01T12:00:00.250Z"),
    ],
)
def test_amounts_are_written_as_people_would(written: str, expected: str) -> None:
    assert written == expected


@given(amounts)
def test_what_is_written_is_read_back_as_it_was(amount: int) -> None:
    assert parse_cpu_milli(format_cpu(amount)) == amount
    assert parse_bytes(format_bytes(amount)) == amount
    assert parse_duration_ms(format_duration(amount)) == amount
    assert parse_price_micro(format_price(amount)) == amount


@given(
    st.integers(min_value=0, max_value=1000)
    | st.integers(max_value=1000, min_value=1).map(lambda n: n * 1000)
)
def test_gpus_are_read_back_as_they_were(gpu_milli: int) -> None:
    assert parse_gpu_milli(format_gpu(gpu_milli)) == gpu_milli


@given(st.integers(min_value=0, max_value=end_of_9999_ms))
@example(end_of_9999_ms)
def test_times_are_read_back_as_they_were(timestamp_ms: int) -> None:
    assert parse_timestamp_ms(format_timestamp(timestamp_ms)) == timestamp_ms


@given(
    st.builds(CountOrPercent, count=amounts)
    | st.builds(CountOrPercent, percent_hundredths=st.integers(min_value=0, max_value=10_000))
)
def test_counts_and_percentages_are_read_back_as_they_were(share: CountOrPercent) -> None:
    assert parse_count_or_percent(str(share)) == share


@given(st.integers(min_value=0, max_value=10**6), st.sampled_from(["", "m", "k", "Ki", "Gi", "G"]))
def test_a_float_counts_as_the_decimal_that_was_written(thousandths: int, suffix: str) -> None:
    decimal = f"{thousandths // 1000}.{thousandths % 1000:03}"
    assert parse_cpu_milli(float(decimal)) == parse_cpu_milli(decimal) == thousandths
    assert parse_bytes(decimal + suffix) >= parse_bytes("0" + suffix)


_amount_like = st.from_regex(r"[-+]?[0-9.]{0,9}([eE][-+]?[0-9]{0,12})?[-:%0-9A-Za-z.]{0,6}", fullmatch=True)


@given(
    st.text()
    | _amount_like
    | st.integers()
    | st.floats()
    | st.none()
    | st.booleans()
    | st.lists(st.integers())
)
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59-23:59")
@example(10**5000)
@example(-(10**5000))
@example("9" * 5000)
def test_anything_is_read_or_refused(written: object) -> None:
    for parse in PARSERS:
        try:
            amount = parse(written)
        except QuantityError:
            continue
        if isinstance(amount, int):
            assert 0 <= amount <= MAX_AMOUNT
