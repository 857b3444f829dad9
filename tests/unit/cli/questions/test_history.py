"""`--history`: `rota plan` and `rota why` tell when waiting jobs start, learnt from past ones."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.cli.calling import Result, rota, write

pytestmark = pytest.mark.covers("time-1")

CLUSTER = """
nodes: [{name: n, resources: {cpu: 4}}]
jobs:
- {name: old, user: ada, resources: {cpu: 4}, running_on: n, started: 2026-01-01T11:50:00Z, time_limit: 2h}
"""
JOBS = """
jobs:
- {name: next, user: ada, resources: {cpu: 4}, submitted: 2026-01-01T12:00:00Z, time_limit: 2h}
- {name: then, user: ada, resources: {cpu: 3}, submitted: 2026-01-01T12:00:00Z, time_limit: 2h}
- {name: huge, user: ada, resources: {cpu: 5}, submitted: 2026-01-01T12:00:00Z, time_limit: 2h}
- {name: desk, queue: desk, resources: {cpu: 4}, start_after: 2026-01-01T20:00:00Z, time_limit: 1h}
"""
POLICY = """
queues: [{name: default, strategy: fifo}, {name: desk, interactive: true, order: -1}]
preemption: {enabled: false}
"""
WORKLOAD = """
workload:
  - name: past
    user: ada
    runs: 30m
    time_limit: 2h
    resources: {cpu: 4}
    repeat: {count: 20, every: 20m}
"""
UTC = {"TZ": "UTC"}


class Case(NamedTuple):
    files: tuple[str, ...]
    history: str

    def plan(self, *options: str, columns: int = 100) -> Result:
        return rota("plan", *self.files, *options, columns=columns, environment=UTC)

    def why(self, job: str, *options: str) -> Result:
        return rota("why", job, *self.files, *options, columns=100, environment=UTC)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    cluster, jobs, policy, history = write(
        tmp_path, cluster=CLUSTER, jobs=JOBS, policy=POLICY, workload=WORKLOAD
    )
    return Case((cluster, jobs, "--policy", policy), history)


def learn(case: Case, file: Path, *options: str) -> Result:
    cluster = file.parent / "machine.yaml"
    cluster.write_text("nodes: [{name: n, resources: {cpu: 4}}]")
    policy = case.files[-1]
    return rota(
        "sim", "run", "-w", case.history, "-c", str(cluster), "-p", policy, "--learnt", str(file), *options
    )


class TestPlan:
    def test_in_data(self, case: Case) -> None:
        result = case.plan("--history", case.history, "-o", "json")
        assert (result.code, result.err) == (2, "")
        first, second = result.data["estimates"]
        # `old` ends at 12:20 if it takes half an hour like others, and at 13:50 by its limit.
        assert (first["job"], first["expected"]) == ("next", "2026-01-01T12:20:00Z")
        assert first["expected"] < first["bound"]
        assert first["latest"] == "2026-01-01T13:50:00Z"
        assert (second["job"], second["latest"]) == ("then", "2026-01-01T15:50:00Z")

    def test_data_are_as_before_without_it(self, case: Case) -> None:
        with_history = case.plan("--history", case.history, "-o", "json").data
        without = case.plan("-o", "json").data
        assert "estimates" not in without
        assert {key: value for key, value in with_history.items() if key != "estimates"} == without
        assert "estimates" not in case.plan("-o", "yaml").out
        assert "estimates:" in case.plan("--history", case.history, "-o", "yaml").out

    def test_a_table(self, case: Case) -> None:
        lines = case.plan("--history", case.history).lines
        at = next(number for number, line in enumerate(lines) if line.startswith("next"))
        assert "about 12:20, by 13:34" in lines[at]
        assert lines[at + 1].split() == ["in", "20", "min"]
        [desk] = (line for line in lines if line.startswith("desk"))
        assert desk.split()[:4] == ["desk", "not", "now", "20:00"]
        [huge] = (line for line in lines if line.startswith("huge"))
        assert "about" not in huge

    def test_no_estimates_in_the_table_without_it(self, case: Case) -> None:
        assert "about" not in case.plan().out

    def test_wide_has_the_latest_by_limits(self, case: Case) -> None:
        wide = case.plan("--history", case.history, "-o", "wide", columns=200).out
        assert "by limits alone 13:50" in wide
        assert "by limits alone" not in case.plan("--history", case.history, columns=200).out

    def test_fits_into_80_columns(self, case: Case) -> None:
        for form in ("table", "wide"):
            result = case.plan("--history", case.history, "-o", form, columns=80)
            assert max(map(len, result.lines)) <= 80

    def test_queues_are_planned_by_what_was_learnt_if_they_say_so(self, case: Case, tmp_path: Path) -> None:
        [policy] = write(tmp_path, learnt=POLICY.replace("fifo", "fifo, durations: learnt"))
        learnt = Case((*case.files[:-1], policy), case.history)
        starts = learnt.plan("--history", case.history, "-o", "json").data["starts"]
        assert {one["job"]: one["start"] for one in starts}["next"] == "2026-01-01T12:20:00Z"
        starts = learnt.plan("-o", "json").data["starts"]
        assert {one["job"]: one["start"] for one in starts}["next"] == "2026-01-01T13:50:00Z"

    @pytest.mark.covers("why-4")
    def test_what_was_learnt_is_recorded_with_the_cycle(self, case: Case, tmp_path: Path) -> None:
        [policy] = write(tmp_path, learnt=POLICY.replace("fifo", "fifo, durations: learnt"))
        folder = str(tmp_path / "record")
        Case((*case.files[:-1], policy), "").plan("--history", case.history, "--record", folder)
        assert rota("replay", folder).code == 0

    def test_jobs_that_wait_for_the_same_are_one_row(self, case: Case, tmp_path: Path) -> None:
        [jobs] = write(
            tmp_path,
            alike="\n".join(
                [
                    "jobs:",
                    *(
                        f"- {{name: ci-{at}, user: ada, resources: {{cpu: 4}}, time_limit: 2h,"
                        " submitted: 2026-01-01T12:00:00Z}"
                        for at in range(3)
                    ),
                ]
            ),
        )
        alike = Case((case.files[0], jobs, *case.files[2:]), case.history)
        [line] = (one for one in alike.plan("--history", case.history).lines if one.startswith("ci-"))
        assert "about 12:20 to 13:20, by " in line

    def test_notes_of_the_record_are_talk(self, case: Case) -> None:
        sacct = Path(__file__).parents[3] / "data" / "traces" / "sacct.txt"
        result = case.plan("--history", str(sacct), "-o", "json")
        assert "rota: note: steps of jobs, left out" in result.err
        assert result.data["estimates"]

    @pytest.mark.parametrize(
        "content, message",
        [
            (None, "there is no such file"),
            ("workload: []", "no job in it has ended"),
            ('{"rota_learnt": 7}', "has version 7 of the format of what was learnt"),
            ('{"rota_learnt": 1, "sta', "is damaged"),
            ("workload: [{name: a}]", "workload[0]"),
        ],
    )
    def test_bad_histories(self, case: Case, tmp_path: Path, content: str | None, message: str) -> None:
        path = tmp_path / "history.yaml"
        if content is not None:
            path.write_text(content)
        result = case.plan("--history", str(path))
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith(f"rota: {path}")
        assert message in result.err


class TestWhy:
    def test_the_first_lines_tell_it(self, case: Case) -> None:
        lines = case.why("next", "--history", case.history).lines
        assert lines[0] == "next waits: not now, planned to start at 13:50, in 1 h 50 min"
        assert lines[1] == (
            "expected about 12:20, in 20 min; in nine of ten cases by 13:34; by limits alone 13:50"
        )

    def test_in_data(self, case: Case) -> None:
        estimate = case.why("next", "--history", case.history, "-o", "json").data["estimate"]
        assert estimate["expected"] == "2026-01-01T12:20:00Z"
        assert estimate["latest"] == "2026-01-01T13:50:00Z"
        assert "estimate" not in case.why("next", "-o", "json").data

    @pytest.mark.parametrize("job", ["desk", "huge", "old"])
    def test_a_job_that_needs_none_has_none(self, case: Case, job: str) -> None:
        assert case.why(job, "--history", case.history, "-o", "json").data["estimate"] is None
        assert "expected about" not in case.why(job, "--history", case.history).out


class TestLearnt:
    def test_what_a_replay_learnt_is_planned_with(self, case: Case, tmp_path: Path) -> None:
        file = tmp_path / "learnt.json"
        assert learn(case, file, "--estimates").code == 0
        by_replay = case.plan("--history", str(file), "-o", "json").data["estimates"]
        by_trace = case.plan("--history", case.history, "-o", "json").data["estimates"]
        assert [one["job"] for one in by_replay] == ["next", "then"]
        # What came of planned starts is known now: bounds aren't where they begin.
        assert all(one["bound"] < other["bound"] for one, other in zip(by_replay, by_trace, strict=True))
        assert [one["latest"] for one in by_replay] == [one["latest"] for one in by_trace]

    def test_only_with_estimates(self, case: Case, tmp_path: Path) -> None:
        result = learn(case, tmp_path / "learnt.json")
        assert result.code == 1
        assert "--learnt" in result.err
        assert "add --estimates" in result.err
        assert not (tmp_path / "learnt.json").exists()

    def test_a_file_that_can_not_be_written(self, case: Case, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        result = learn(case, folder, "--estimates")
        assert (result.code, result.out) == (1, "")
        assert result.err == f"rota: {folder}: is a directory; name a file in it\n"
