"""Slurm's ways to write times."""

from datetime import UTC, datetime

import pytest

from rota.intake.sbatch.times import limit_seconds, moment

NOW = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800),
        ("30:15", 1815),
        ("1:30:00", 5400),
        ("2-12", 216_000),
        ("2-12:30", 217_800),
        ("2-12:30:05", 217_805),
        ("0", None),
        ("UNLIMITED", None),
        ("infinite", None),
    ],
)
def test_limits(text: str, seconds: int | None) -> None:
    assert limit_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "1-", "-5", "1.5", "1-2:3:4:5", "٣"])
def test_no_limits(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        limit_seconds(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("now", "2026-05-01 12:30:00"),
        ("now+90", "2026-05-01 12:31:30"),
        ("now+2hours", "2026-05-01 14:30:00"),
        ("now + 1 week", "2026-05-08 12:30:00"),
        ("now+3min", "2026-05-01 12:33:00"),
        ("16:00", "2026-05-01 16:00:00"),
        ("9:00", "2026-05-02 09:00:00"),
        ("12:45:30", "2026-05-01 12:45:30"),
        ("1:00pm", "2026-05-01 13:00:00"),
        ("12:00AM", "2026-05-02 00:00:00"),
        ("noon", "2026-05-02 12:00:00"),
        ("teatime", "2026-05-01 16:00:00"),
        ("tomorrow", "2026-05-02 12:30:00"),
        ("2027-01-20", "2027-01-20 00:00:00"),
        ("2027-01-20T12:34:00", "2027-01-20 12:34:00"),
        ("6/15 08:00", "2026-06-15 08:00:00"),
        ("1/15", "2027-01-15 00:00:00"),
        ("061527", "2027-06-15 00:00:00"),
    ],
)
def test_moments(text: str, wanted: str) -> None:
    assert moment(text, NOW) == datetime.fromisoformat(f"{wanted}+00:00")


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "13:00pm", "now+", "now+1fortnight", "2026-13-01", "2/30"]
)
def test_no_moments(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        moment(text, NOW)
