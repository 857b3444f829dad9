"""Workloads in Rota's own form."""

from pathlib import Path

import pytest

from tests.unit.intake.traces.reading import read, refusal

WORKLOAD = """
workload:
- name: train
  arrival: 10m
  runs: 2h
  time_limit: 4h
  user: ada
  tasks: 4
  resources: {cpu: 8}
- name: notebook
  runs: 30m
  repeat: {count: 3, every: 15m}
  resources: {cpu: 1}
- name: viewer
  arrival: 10m
  runs: 0
  connect_to: train
"""


def test_jobs_arrive_in_order(tmp_path: Path) -> None:
    workload = read(tmp_path, WORKLOAD, "office.yaml")
    assert workload.name == "office"
    assert [(one.job.id, one.arrival_ms // 1000, one.run_ms // 1000) for one in workload.jobs] == [
        ("notebook-0", 0, 1800),
        ("train", 600, 7200),
        ("viewer", 600, 0),
        ("notebook-1", 900, 1800),
        ("notebook-2", 1800, 1800),
    ]
    assert all(one.job.submitted_ms == one.arrival_ms for one in workload.jobs)
    assert not workload.nodes


def test_jobs_are_as_in_job_files(tmp_path: Path) -> None:
    jobs = {one.job.id: one.job for one in read(tmp_path, WORKLOAD, "office.yaml").jobs}
    template = jobs["train"].template  # type: ignore[index]
    assert (template.task_count, template.user, template.time_limit_ms) == (4, "ada", 4 * 3_600_000)
    assert template.groups[0].spec.requests.cpu_milli == 8000
    assert jobs["notebook-0"].template is jobs["notebook-2"].template  # type: ignore[index]


def test_several_documents_are_one_workload(tmp_path: Path) -> None:
    both = WORKLOAD + "---\nworkload:\n- {name: late, arrival: 1d, runs: 1s, connect_to: train}\n"
    assert read(tmp_path, both, "both.yaml").jobs[-1].job.id == "late"


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("old", "new", "line", "field", "words"),
    [
        ("arrival: 10m", "arrival: -10m", 4, "workload[0].arrival", "negative"),
        ("arrival: 10m", "arrival: soon", 4, "workload[0].arrival", "not a duration"),
        ("  runs: 2h\n", "", 3, "workload[0].runs", "is missing"),
        ("runs: 2h", "runs: 2x", 5, "workload[0].runs", "not a duration"),
        ("user: ada", "submitted: 0", 7, "workload[0].submitted", "hasn't begun"),
        ("user: ada", "done: [1]", 7, "workload[0].done", "hasn't begun"),
        ("user: ada", "start_after: 5", 7, "workload[0].start_after", "begins at 0"),
        ("user: ada", "start_before: 5", 7, "workload[0].start_before", "begins at 0"),
        ("user: ada", "start_within: 0", 7, "workload[0].start_within", "the duration is 0"),
        ("user: ada", "usr: ada", 7, "workload[0].usr", "unknown field"),
        ("count: 3", "count: 0", 12, "workload[1].repeat.count", "out of range"),
        ("every: 15m", "every: often", 12, "workload[1].repeat.every", "not a duration"),
        ("count: 3, every: 15m", "count: 9000, every: 9999999d", 12, "workload[1].repeat", "never arrive"),
        ("tasks: 4", "tasks: 999998", 10, "workload[1]", "more than 1,000,000 tasks"),
        ("name: viewer", "name: notebook-1", 14, "workload[2].name", "is on line 10 already"),
        ("connect_to: train", "connect_to: notebook", 17, "workload[2].connect_to", "is repeated"),
        ("connect_to: train", "connect_to: trian", 17, "workload[2].connect_to", "no job named"),
    ],
)
def test_bad_input(tmp_path: Path, old: str, new: str, line: int, field: str, words: str) -> None:
    assert old in WORKLOAD
    error = refusal(tmp_path, WORKLOAD.replace(old, new, 1), "bad.yaml")
    assert (error.line, error.field) == (line, field)
    assert words in error.problem
