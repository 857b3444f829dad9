"""On files, what is held or waits for others is planned as a server would: not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.files import records_from_documents
from rota.lifecycle.kept_back import AwaitsJobs, DependencyUnmet, IsHeld
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.on_files import Moment, latest_time_ms
from rota.loop.records.record import Recorder
from rota.loop.records.replay import Replay
from rota.model.explanation import Outcome
from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.reasons import AwaitsPartner
from rota.model.verdict import Reason

pytestmark = pytest.mark.covers("first-4")
FILES = """
nodes: [{name: n, resources: {cpu: 9}}]
jobs:
- {name: old, done: [0]}
- {name: a, resources: {cpu: 1}}
- {name: after-old, resources: {cpu: 1}, depends_on: [old]}
- {name: unless-old, resources: {cpu: 1}, depends_on: [{job: old, after: failure}]}
- {name: after-a, resources: {cpu: 1}, depends_on: [a]}
- {name: held, resources: {cpu: 1}, hold: true}
- {name: beside, resources: {cpu: 1}, connect_to: held}
- {name: sweep, resources: {cpu: 1}, array: 2}
- {name: after-sweep, resources: {cpu: 1}, array: 2, depends_on: [sweep]}
"""


def moment() -> Moment:
    records = records_from_documents(parse_documents(FILES.encode(), "files.yaml"))
    assert latest_time_ms(records) is None
    return Moment(records, Policy(), 1_000_000, PluginHost([]))


def reasons(plan: Plan) -> dict[str, list[Reason]]:
    return {
        job_id: [one.reason for one in entry.verdict.refusals]
        for entry in plan.waiting
        for job_id in entry.jobs
    }


def test_only_what_may_start_is_placed() -> None:
    plan = moment().plan()
    assert {one.job for one in plan.bindings} == {"a", "after-old", "sweep.0", "sweep.1"}
    sweep = AwaitsJobs((JobId("sweep.0"), JobId("sweep.1")))
    assert reasons(plan) == {
        "unless-old": [DependencyUnmet("job old succeeded")],
        "after-a": [AwaitsJobs((JobId("a"),))],
        "held": [IsHeld()],
        "beside": [AwaitsPartner(JobId("held"))],
        "after-sweep.0": [sweep],
        "after-sweep.1": [sweep],
    }


def test_the_reason_is_what_why_says() -> None:
    found = moment().explain(JobId("held"))
    assert found.outcome is Outcome.WAITING
    assert found.verdict is not None
    assert [one.reason for one in found.verdict.refusals] == [IsHeld()]


def test_a_record_holds_what_the_engine_decided(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        moment().plan(recorder)
    [cycle] = Replay(tmp_path, PluginHost([])).cycles()
    assert cycle.is_equal
