"""`rota why` says when a job starts, and when it would with a change: in data and in tables."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from rota.cli.questions.files import Files, find_subject, read_question
from rota.cli.questions.why_tables import why_tables
from rota.views.plan.view import PlanView
from rota.views.times import Clock
from rota.views.why.document import why_document
from rota.views.why.view import why_view
from tests.unit.cli.calling import rota, write

pytestmark = pytest.mark.covers("why-2")

CLUSTER = """
nodes: [{name: n, count: 2, resources: {cpu: 4}}]
maintenance: [{name: power, start: 2026-01-01T20:00:00Z, for: 2h}]
jobs:
- {name: old, resources: {cpu: 3}, running_on: n-0, started: 2026-01-01T08:00:00Z, time_limit: 6h}
- {name: older, resources: {cpu: 4}, running_on: n-1, started: 2026-01-01T08:00:00Z, time_limit: 8h}
"""
STATES = "queues: [{name: night, state: paused, message: disks are full}]"
JOBS = {
    "sweep": "tasks: 2, resources: {cpu: 4}, time_limit: 5h",
    "huge": "resources: {cpu: 5}, time_limit: 1h",
    "late": "resources: {cpu: 1}, time_limit: 9h",
    "desk": "resources: {cpu: 4}, time_limit: 1h, queue: desk",
    "stopped": "resources: {cpu: 4}, queue: night",
}
POLICY = "queues: [{name: default}, {name: desk, interactive: true}]\npreemption: {enabled: false}"


def files(name: str, folder: Path) -> Files:
    """In which this job waits alone."""
    jobs = f"jobs: [{{name: {name}, submitted: 2026-01-01T12:00:00Z, {JOBS[name]}}}]"
    cluster, jobs, policy = write(folder, cluster=CLUSTER + STATES, jobs=jobs, policy=POLICY)
    return Files(cluster, jobs, policy, None, "1Mi")


def lines(name: str, folder: Path) -> list[str]:
    asked = files(name, folder)
    question = read_question(asked)
    subject = find_subject(name, asked.jobs, question.records)
    moment = question.moment
    view = why_view(subject, moment.explain(subject.job), PlanView(moment.plan(), moment.snapshot))
    out = io.StringIO()
    console = Console(file=out, width=100, highlight=False)
    document = why_document(view, question.now_ms)
    for part in why_tables(document, Clock(question.now_ms, ZoneInfo("Europe/Berlin")), wide=False):
        console.print(part)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def data(name: str, folder: Path) -> Any:
    asked = files(name, folder)
    return rota("why", name, asked.cluster, asked.jobs, "--policy", str(asked.policy), "-o", "json").data


def test_its_own_start_is_in_the_first_line(tmp_path: Path) -> None:
    assert lines("sweep", tmp_path)[0] == "sweep waits: not now, planned to start at 23:00, in 10 h"
    assert lines("desk", tmp_path)[0] == "desk waits: not now, promised to start at 15:00, in 2 h"


def test_what_would_be_sooner_and_when(tmp_path: Path) -> None:
    text = lines("sweep", tmp_path)
    at = text.index("What would let it start before 23:00, the smallest change first")
    assert text[at + 1 : at + 5] == [
        "CHANGE                                   STARTS  STARTS ON",
        "set a time limit of at most 4h (has 5h)  17:00   n-0, n-1",
        "start with 1 task (needs 2)              15:00   n-0",
        "ask for at most 2 cpu (asks 4)           15:00   n-0 ×2",
    ]
    at = text.index("What would let it start now, the smallest change first")
    assert text[at + 1 : at + 3] == [
        "CHANGE                            STARTS ON",
        "ask for at most 0.5 cpu (asks 4)  n-0 ×2",
    ]


def test_of_what_never_starts_when_it_would(tmp_path: Path) -> None:
    text = lines("huge", tmp_path)
    at = text.index("What would make it possible, the smallest change first")
    assert text[at + 2].split("  ")[0] == "ask for at most 4 cpu (asks 5)"
    assert "STARTS " in text[at + 1]


def test_reasons_are_in_local_time(tmp_path: Path) -> None:
    assert "maintenance: maintenance power from 21:00 on" in lines("late", tmp_path)


def test_a_queue_that_is_paused_is_all_there_is_to_say(tmp_path: Path) -> None:
    assert lines("stopped", tmp_path)[2:] == ["queue: queue night is paused: disks are full"]


def test_starts_and_remedies_are_in_the_json(tmp_path: Path) -> None:
    sweep = data("sweep", tmp_path)
    assert (sweep["start"], sweep["promised"]) == ("2026-01-01T22:00:00Z", False)
    assert [(one["change"], one["start"]) for one in sweep["remedies"]] == [
        ("resource", "2026-01-01T12:00:00Z"),
        ("time limit", "2026-01-01T16:00:00Z"),
        ("gang size", "2026-01-01T14:00:00Z"),
        ("resource", "2026-01-01T14:00:00Z"),
    ]
    stopped = data("stopped", tmp_path)
    assert (stopped["start"], stopped["promised"], stopped["remedies"]) == (None, False, [])
    assert data("desk", tmp_path)["promised"]
