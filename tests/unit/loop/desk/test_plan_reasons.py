"""Why jobs wait, in a few words each."""

from __future__ import annotations

import pytest

from rota.loop.desk.plan_reasons import PlanReasons
from rota.model.ids import JobId
from rota.model.plan import Plan, Waiting
from rota.model.reasons import BehindInStrictQueue, QueuePaused
from rota.model.verdict import Kind, Refusal, Verdict

pytestmark = pytest.mark.covers("first-6")

PAUSED = Verdict(Kind.NOT_NOW, (Refusal(QueuePaused("batch", "disks are full"), 0),))
BEHIND = Verdict(Kind.NOT_NOW, (Refusal(BehindInStrictQueue(JobId("1")), 0),))
PLAN = Plan(waiting=(Waiting((JobId("2"), JobId("3")), PAUSED), Waiting((JobId("4"),), BEHIND)))


def test_each_job_has_the_first_reason_of_its_verdict() -> None:
    texts = PlanReasons(PLAN).texts([JobId("2"), JobId("4"), JobId("9")], lambda job: True)
    assert list(texts) == ["2", "4"]
    assert "disks are full" in texts[JobId("2")]
    assert texts[JobId("4")] == "behind 1, which can't start (strict queue)"


def test_jobs_of_others_are_not_named() -> None:
    texts = PlanReasons(PLAN).texts([JobId("4")], lambda job: False)
    assert texts[JobId("4")] == "behind a job of another project, which can't start (strict queue)"
