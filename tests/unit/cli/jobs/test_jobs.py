"""`rota ls`, `show`, `eta`, `eff`, `cancel`, `hold`, `release`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from rota.api.jobs import EfficiencyDocument
from rota.lifecycle.state import EndReason, Phase
from rota.model.causes import Cause
from rota.sdk.errors import Conflict, Forbidden, Unreachable
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import a_job, ago, an_attempt, an_estimate, detail, later, over, running
from tests.unit.cli.fake_server import Asked, FakeServer


class TestLs:
    def test_shows_what_waits_and_runs(self, server: FakeServer) -> None:
        server.has(
            running("18", time_limit_s=3600.0), a_job("17", promised=later(300)), over(Phase.FAILED, "16")
        )
        result = rota("ls")
        assert result.code == 0
        assert [line.split()[0] for line in result.lines] == ["JOB", "18", "17"]
        assert "2 min of 1h" in result.lines[1]
        assert "promised for 12:05" in result.lines[2]

    def test_all(self, server: FakeServer) -> None:
        server.has(over(Phase.FAILED, "16", cause=Cause.TASK_FAILED, exit_code=3))
        assert rota("ls").out == ""
        result = rota("ls", "--all")
        assert "failed" in result.lines[1]
        assert "exit 3" in result.lines[1]

    def test_nothing_is_said(self, server: FakeServer) -> None:
        result = rota("ls")
        assert (result.code, result.out) == (0, "")
        assert "--all" in result.err

    def test_arrays_share_a_line(self, server: FakeServer) -> None:
        server.has(running("17.0"), *(a_job(f"17.{index}") for index in range(1, 40)), a_job("16"))
        lines = rota("ls").lines
        assert len(lines) == 3
        assert lines[1].split()[0] == "17"
        assert "1 running, 39 waiting" in lines[1]
        assert "array of 40" in lines[1]

    @pytest.mark.covers("first-3")
    def test_of_an_array_failures_come_first(self, server: FakeServer) -> None:
        done = [over(Phase.SUCCEEDED, f"17.{index}") for index in range(9)]
        server.has(*done, over(Phase.FAILED, "17.9", cause=Cause.TASK_FAILED, exit_code=3))
        [_, line] = rota("ls", "--all").lines
        assert "1 failed, 9 succeeded" in line
        assert line.endswith("array of 10; exit 3")

    @pytest.mark.covers("first-3")
    def test_how_many_run_at_once_is_said_until_all_are_over(self, server: FakeServer) -> None:
        server.at_once = 4
        server.has(running("17.0"), a_job("17.1", reason="at most 4 of array 17 at once"))
        assert rota("ls").lines[1].endswith("array of 2, at most 4 at once")

    @pytest.mark.covers("first-6")
    def test_those_that_wait_say_why_and_whose_they_are(self, server: FakeServer) -> None:
        server.has(a_job("17", reason="the queue batch is paused: disks are full"))
        [header, line] = rota("ls").lines
        assert header.split() == ["JOB", "NAME", "USER", "STATE", "TIME", "NOTE"]
        assert line.split()[2] == "ada"
        assert line.endswith("the queue batch is paused: disks are full")

    @pytest.mark.covers("first-6")
    @pytest.mark.parametrize(
        ("word", "phases"),
        [
            ("waiting", "created,pending"),
            ("held", "created"),
            ("starting", "scheduled"),
            ("timed out", "timed-out"),
            ("timed-out,Running", "timed-out,running"),
            ("pending", "pending"),
        ],
    )
    def test_words_of_the_table_are_understood(self, server: FakeServer, word: str, phases: str) -> None:
        rota("ls", "--state", word)
        assert server.filters["phase"] == phases

    @pytest.mark.covers("first-6")
    def test_in_a_pipe_nothing_is_cut(self, server: FakeServer) -> None:
        server.has(a_job("17", name="n" * 100, reason="because " * 20))
        [_, line] = rota("ls", "-o", "wide", environment={"COLUMNS": ""}).lines
        assert "n" * 100 in line
        assert ("because " * 20).strip() in line

    def test_unless_told_otherwise(self, server: FakeServer) -> None:
        server.has(a_job("17.0"), a_job("17.1"))
        assert len(rota("ls", "--flat").lines) == 3
        assert len(rota("ls", "--array", "17").lines) == 3

    def test_filters_reach_the_server(self, server: FakeServer) -> None:
        rota("ls", "--project", "p", "--user", "u", "--queue", "q", "--name", "n", "--label", "a=b")
        asked = {"project": "p", "user": "u", "queue": "q", "name": "n", "label": "a=b"}
        assert asked.items() <= server.filters.items()

    @pytest.mark.parametrize(("given", "since"), [("2h", ago(7200)), ("2026-05-01T11:59:00Z", ago(60))])
    def test_since(self, server: FakeServer, given: str, since: datetime) -> None:
        rota("ls", "--since", given)
        assert server.filters["submitted_after"] == since.isoformat()

    def test_states(self, server: FakeServer) -> None:
        server.has(running("18"), over(Phase.FAILED, "17"), over(Phase.SUCCEEDED, "16"))
        assert rota("ls", "--state", "failed,running", "-o", "name").lines == ["18", "17"]

    def test_a_limit_is_told(self, server: FakeServer) -> None:
        server.has(*(a_job(str(number)) for number in range(9, 0, -1)))
        result = rota("ls", "--limit", "3", "-o", "name")
        assert result.lines == ["9", "8", "7"]
        assert "newest 3" in result.err

    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [((), 100), (("-o", "wide"), 100), (("-o", "name"), 150), (("--limit", "120"), 120)],
    )
    def test_a_person_sees_fewer_than_a_program(
        self, server: FakeServer, arguments: tuple[str, ...], shown: int
    ) -> None:
        server.has(*(a_job(str(number)) for number in range(150, 0, -1)))
        result = rota("ls", *arguments)
        is_table = "name" not in arguments
        assert len(result.lines) - is_table == shown
        assert (f"newest {shown}" in result.err) == (shown < 150)

    def test_as_data(self, server: FakeServer) -> None:
        server.has(a_job("17"))
        (job,) = rota("ls", "-o", "json").data
        assert job["id"] == "17"
        assert job["submitted"] == "2026-05-01T11:50:00Z"
        assert "id: '17'" in rota("ls", "-o", "yaml").out

    @pytest.mark.parametrize("columns", [80, 200])
    def test_fits_the_terminal(self, server: FakeServer, columns: int) -> None:
        server.has(
            a_job("123456.99", name="a-rather-long-name-of-a-job-that-nobody-shortened", message="x" * 300),
            running("123457", time_limit_s=7200.0),
        )
        for form in ("table", "wide"):
            assert max(map(len, rota("ls", "-o", form, columns=columns).lines)) <= columns

    def test_nothing_steers_the_terminal(self, server: FakeServer) -> None:
        server.has(a_job(name="\x1b[31mred\x07", command="a\nb", message="\x1b]0;title\x07"))
        assert "\x1b" not in rota("ls", "-o", "wide", columns=200).out

    @pytest.mark.parametrize(
        "arguments", [("--state", "sleeping"), ("--since", "some day"), ("--limit", "0")]
    )
    def test_bad_input(self, server: FakeServer, arguments: tuple[str, str]) -> None:
        result = rota("ls", *arguments)
        assert (result.code, result.out) == (1, "")
        assert arguments[0] in result.err


class TestShow:
    def test_says_who_failed_where(self, server: FakeServer) -> None:
        job = over(Phase.FAILED, tasks=4, cause=Cause.TASK_FAILED, exit_code=3)
        stopped = an_attempt(0, reason=EndReason.STOPPED, exit_code=None)
        server.has(detail(job, stopped, an_attempt(2, exit_code=3)))
        result = rota("show", "17")
        assert result.lines[0] == "17 train failed: exit 3 of rank 2 on n1"

    def test_says_when_it_will_start(self, server: FakeServer) -> None:
        server.has(detail(a_job(), estimate=an_estimate()))
        (line,) = [line for line in rota("show", "17", columns=200).lines if line.startswith("start")]
        assert line.split(maxsplit=1)[1] == (
            "3 jobs ahead; expected about 12:10, in 10 min; in nine of ten cases by 12:30"
        )

    def test_wide_has_what_was_submitted(self, server: FakeServer) -> None:
        server.has(detail(running(), an_attempt(0, phase=None)))
        assert "train.py" in rota("show", "17", "-o", "wide", columns=200).out.partition("As submitted")[2]

    def test_one_that_waits_for_a_retry(self, server: FakeServer) -> None:
        job = a_job(cause=Cause.RETRY, started=ago(120), not_before=later(20), attempt=2)
        server.has(detail(job, an_attempt(exit_code=1)))
        shown = rota("show", "17").out
        assert "runs for" not in shown
        [retry] = [line for line in shown.splitlines() if line.startswith("retry")]
        assert retry.split()[1:] == ["12:00:20,", "in", "20", "s"]

    def test_an_unknown_job(self, server: FakeServer) -> None:
        result = rota("show", "99")
        assert (result.code, result.out) == (3, "")
        assert result.err == "rota: there is no job 99; `rota ls --all` lists them\n"


class TestEta:
    def test_of_several(self, server: FakeServer) -> None:
        server.estimates = {
            "17": an_estimate("17", promised=True, position=None),
            "18": an_estimate("18", expected=None, bound=None, position=0, reason="its queue is paused"),
        }
        lines = rota("eta", "17", "18").lines
        assert lines[1].split(maxsplit=1)[1].rstrip() == "promised for 12:10, in 10 min"
        assert lines[2].split(maxsplit=1)[1].rstrip() == "next in its queue; its queue is paused"

    def test_as_data(self, server: FakeServer) -> None:
        server.estimates = {"17": an_estimate("17")}
        assert rota("eta", "17", "-o", "json").data["bound"] == "2026-05-01T12:30:00Z"


def test_eff(server: FakeServer) -> None:
    server.efficiencies["17"] = EfficiencyDocument(
        job="17",
        wall_s=1800,
        cpu_asked_s=7200,
        cpu_used_s=1800,
        memory_asked_bytes=4 * 2**30,
        memory_used_bytes=3 * 2**30,
        time_limit_s=3600,
    )
    cpu, memory, limit = rota("eff", "17").lines[1:]
    assert cpu.split() == ["17", "cpu", "30", "min", "2", "h", "25%"]
    assert memory.split() == ["memory", "3Gi", "4Gi", "75%"]
    assert limit.split() == ["time", "30", "min", "1h", "50%"]


class TestChanges:
    @pytest.mark.parametrize(
        ("arguments", "asked"),
        [
            (
                ("cancel", "17", "-m", "too big"),
                Asked("cancel", "17", {"message": "too big", "dry_run": False}),
            ),
            (("hold", "17", "--dry-run"), Asked("hold", "17", {"dry_run": True})),
            (("release", "17.3"), Asked("release", "17.3", {"dry_run": False})),
        ],
    )
    def test_are_asked_for(self, server: FakeServer, arguments: tuple[str, ...], asked: Asked) -> None:
        result = rota(*arguments)
        assert (result.code, result.out) == (0, "")
        assert server.asked == [asked]

    def test_are_told(self, server: FakeServer) -> None:
        assert rota("cancel", "17", "18").err == "rota: cancelled 17\nrota: cancelled 18\n"
        assert rota("hold", "17", "--dry-run").err == "rota: dry run: 17 would be held\n"

    def test_names_alone(self, server: FakeServer) -> None:
        assert rota("cancel", "17", "18", "-o", "name").out == "17\n18\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Forbidden("a viewer may not", help="ask an operator"), 4),
        (Conflict("it is over"), 2),
        (Unreachable("no server answers", help="is `rota server` running?"), 5),
    ],
)
@pytest.mark.covers("ops-3")
def test_refusals_have_their_exit_codes(server: FakeServer, error: Any, code: int) -> None:
    server.refusal = error
    result = rota("cancel", "17")
    assert (result.code, result.out) == (code, "")
    assert result.err.count("\n") == 1
    assert error.message in result.err
    assert (error.help or "") in result.err


@pytest.mark.covers("decide-17")
def test_until_when_it_may_wait_and_by_whose_rule(server: FakeServer) -> None:
    server.has(replace(detail(a_job()), start_by=later(3600), start_by_from="queue quick"))
    assert "start by   13:00, in 1 h, or it fails, a rule of the queue quick" in rota("show", "17").out
