"""`rota extend`: may it run longer, in data, in tables, and as an exit code."""

from __future__ import annotations

import io
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from rota.cli.questions.extension_tables import extension_tables
from rota.model.extension import Answer, Extension, InTheWay, MovedStart, Obstacle
from rota.model.ids import JobId, NodeName
from rota.views.extend.document import extension_document
from rota.views.extend.wording import answer_text, obstacle_text
from rota.views.times import Clock
from tests.unit.cli.calling import Result, rota, write

pytestmark = pytest.mark.covers("time-8")

CLUSTER = """
nodes: [{name: n, resources: {cpu: 4}, price_per_hour: 12}]
maintenance: [{name: power, start: 2026-01-01T20:00:00Z, for: 2h}]
jobs:
- {name: old, resources: {cpu: 2}, running_on: n, started: 2026-01-01T08:00:00Z, time_limit: 6h}
- {name: endless, resources: {cpu: 1}, running_on: n, started: 2026-01-01T08:00:00Z}
"""
JOBS = """
jobs:
- {name: next, resources: {cpu: 2}, time_limit: 1h, submitted: 2026-01-01T12:00:00Z}
"""
NOON_MS = 1_767_268_800_000
HOUR = 3_600_000


def extend(folder: Path, job: str, limit: str, *options: str) -> Result:
    return rota("extend", job, limit, *write(folder, cluster=CLUSTER, jobs=JOBS), *options)


class TestExitCodes:
    def test_0_if_it_may(self, tmp_path: Path) -> None:
        assert extend(tmp_path, "old", "8h").code == 0

    @pytest.mark.parametrize(
        ("job", "limit"), [("old", "13h"), ("old", "1h"), ("endless", "9h"), ("next", "9h")]
    )
    def test_2_if_not(self, tmp_path: Path, job: str, limit: str) -> None:
        result = extend(tmp_path, job, limit)
        assert (result.code, result.err) == (2, "")
        assert result.out.startswith(f"{job} ")

    @pytest.mark.parametrize(
        ("job", "limit", "complaint"),
        [
            ("old", "soon", 'Invalid value for LIMIT: "soon" is not a duration'),
            ("old", "+", "Invalid value for LIMIT"),
            ("old", "", "Invalid value for LIMIT"),
            ("odl", "8h", 'there is no job named "odl"; did you mean "old"?'),
        ],
    )
    def test_1_on_bad_input(self, tmp_path: Path, job: str, limit: str, complaint: str) -> None:
        result = extend(tmp_path, job, limit)
        assert (result.code, result.out) == (1, "")
        assert complaint in result.err


class TestLimits:
    def test_in_all(self, tmp_path: Path) -> None:
        data = extend(tmp_path, "old", "8h", "-o", "json").data
        assert (data["limit"], data["had"], data["end"]) == ("8h", "6h", "2026-01-01T16:00:00Z")

    def test_or_added_to_the_one_it_has(self, tmp_path: Path) -> None:
        assert extend(tmp_path, "old", "+2h", "-o", "json").data == (
            extend(tmp_path, "old", "8h", "-o", "json").data
        )

    def test_at_the_moment_that_is_asked_for(self, tmp_path: Path) -> None:
        later = extend(tmp_path, "old", "8h", "--now", "2026-01-01T15:00:00Z", "-o", "json").data
        assert later["answer"] == "limit passed"


class TestData:
    def test_of_a_grant(self, tmp_path: Path) -> None:
        assert extend(tmp_path, "old", "8h", "-o", "json").data == {
            "job": "old",
            "granted": True,
            "answer": "granted",
            "limit": "8h",
            "had": "6h",
            "end": "2026-01-01T16:00:00Z",
            "longest": "12h",
            "cost": 12.0,
            "in_the_way": [],
            "moved": [{"job": "next", "from": "2026-01-01T14:00:00Z", "to": "2026-01-01T16:00:00Z"}],
            "others_moved": 0,
            "message": "may run for 8h in all instead of 6h",
        }

    def test_of_a_refusal(self, tmp_path: Path) -> None:
        data = extend(tmp_path, "old", "13h", "-o", "json").data
        assert (data["granted"], data["answer"], data["longest"]) == (False, "in the way", "12h")
        assert data["in_the_way"] == [
            {
                "kind": "maintenance",
                "name": "power",
                "start": "2026-01-01T20:00:00Z",
                "nodes": ["n"],
                "message": "maintenance power",
            }
        ]
        assert data["moved"] == []


def lines(extension: Extension) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=80, highlight=False)
    for part in extension_tables(extension_document(extension), Clock(NOON_MS, ZoneInfo("Europe/Berlin"))):
        console.print(part)
    return [line.rstrip() for line in out.getvalue().splitlines()]


class TestTables:
    def test_of_a_grant(self) -> None:
        moved = (
            MovedStart(JobId("next"), NOON_MS, NOON_MS + 4 * HOUR),
            MovedStart(JobId("wide"), NOON_MS + HOUR, None),
        )
        extension = Extension(
            JobId("old"),
            Answer.GRANTED,
            8 * HOUR,
            6 * HOUR,
            NOON_MS + 4 * HOUR,
            12 * HOUR,
            12_000_000,
            moved=moved,
        )
        assert lines(extension) == [
            "old may run for 8h in all instead of 6h, until 17:00",
            "the added time costs 12.00",
            "",
            "Planned starts that move",
            "JOB   FROM   TO",
            "next  now    17:00",
            "wide  14:00  no planned start",
        ]

    def test_of_a_refusal(self) -> None:
        entry = InTheWay(Obstacle.PROMISE, "desk", NOON_MS + HOUR, (NodeName("n"),))
        extension = Extension(
            JobId("old"), Answer.IN_THE_WAY, 13 * HOUR, 6 * HOUR, NOON_MS, 7 * HOUR, 0, (entry,)
        )
        assert lines(extension) == [
            "old can't run for 13h: its nodes are needed",
            "",
            "What prevents it",
            "WHAT                    FROM   NODES",
            "promised start of desk  14:00  n",
            "",
            "the longest limit that would be granted: 7h",
        ]

    def test_where_nothing_more_is_to_be_had(self) -> None:
        extension = Extension(JobId("old"), Answer.OVER_BUDGET, 8 * HOUR, 6 * HOUR, longest_ms=6 * HOUR)
        assert lines(extension)[-1] == "no longer limit would be granted"


def test_nothing_is_without_words() -> None:
    assert all(answer_text(Extension(JobId("j"), answer, HOUR)) for answer in Answer)
    for obstacle in Obstacle:
        assert "x7" in obstacle_text(InTheWay(obstacle, "x7", 0, ()))
