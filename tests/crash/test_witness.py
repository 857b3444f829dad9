"""The witness says nothing about what may be, and names what mustn't."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from rota.api.cluster import NodeDocument
from rota.api.jobs import AttemptDocument, JobDetail, JobDocument
from rota.api.service import EventDocument
from rota.lifecycle.state import EndReason, Phase
from rota.model.causes import Cause
from tests.crash.diary import entry_of
from tests.crash.jobs import ENDLESS_S, Form
from tests.crash.rules import Broken
from tests.crash.witness import Witness

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FORM = Form(seconds=1)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def job(id: str, phase: Phase = Phase.SUCCEEDED, tasks: int = 1, **fields: Any) -> JobDocument:
    document = JobDocument(
        id=id,
        name="crash",
        project="default",
        user="ada",
        queue="default",
        phase=phase,
        cause=None,
        message="",
        priority=0,
        labels={},
        array=None,
        tasks=tasks,
        tasks_running=0,
        tasks_done=0,
        tasks_failed=0,
        nodes=[],
        attempt=1,
        submitted=NOW,
        started=None,
        ended=at(9) if phase.is_terminal else None,
        time_limit_s=None,
        promised=None,
        exit_code=None,
        command="",
    )
    return replace(document, **fields)


def attempt(fence: int = 1, rank: int = 0, **fields: Any) -> AttemptDocument:
    """From the second second to the third, successfully."""
    document = AttemptDocument(
        rank=rank,
        fence=fence,
        node="a",
        gpu_devices=[],
        phase=None,
        bound=at(1),
        started=at(2),
        ended=at(3),
        reason=EndReason.EXITED,
        exit_code=0,
        signal=None,
        message="",
        cpu_s=None,
        max_memory_bytes=None,
    )
    return replace(document, **fields)


def detail(of: JobDocument, *attempts: AttemptDocument) -> JobDetail:
    return JobDetail(job=of, spec={}, attempts=list(attempts), depends_on=[], estimate=None)


def event(seq: int, subject: str = "1", **data: object) -> EventDocument:
    return EventDocument(seq=seq, at=NOW, kind="job.Ended", subject=subject, project=None, by="", data=data)


def line(words: str, seconds: float) -> str:
    return f"{words} {round(at(seconds).timestamp() * 1000)}"


def saw(*lines: str, form: Form = FORM, jobs: tuple[str, ...] = ("1",)) -> Witness:
    witness = Witness()
    witness.accepted(jobs, form)
    witness.entries(map(entry_of, lines))
    return witness


RAN = (line("start 1 0 1 a", 2), line("end-0 1 0 1 a", 3))
LOST = attempt(reason=EndReason.LOST, exit_code=None)


def test_a_job_that_ran_once() -> None:
    witness = saw(*RAN)
    assert witness.unfinished() == {"1"}
    witness.told(event(1))
    witness.told(event(2, phase="succeeded"))
    assert witness.unfinished() == set()
    witness.jobs(witness.all_accepted(), [job("1")])
    witness.finished([detail(job("1"), attempt())], [event(1), event(2, phase="succeeded")])


def test_one_that_was_lost_and_ran_elsewhere() -> None:
    witness = saw(*RAN[:1], line("start 1 0 2 b", 5), line("end-0 1 0 2 b", 6))
    second = attempt(2, node="b", bound=at(4), started=at(5), ended=at(6))
    witness.finished([detail(job("1"), LOST, second)], [])


def test_jobs_that_are_gone_come_twice_or_change_their_end() -> None:
    witness = saw()
    with pytest.raises(Broken, match="I1: accepted, and not kept: 1"):
        witness.jobs(witness.all_accepted(), [])
    with pytest.raises(Broken, match="I1: accepted twice: 1"):
        witness.accepted(["1"], FORM)
    witness.jobs(witness.all_accepted(), [job("1", Phase.RUNNING)])
    witness.jobs(witness.all_accepted(), [job("1", Phase.FAILED)])
    for other in (job("1"), job("1", Phase.RUNNING), job("1", Phase.FAILED, ended=at(10))):
        with pytest.raises(Broken, match="I1: job 1 was failed at"):
            witness.jobs(witness.all_accepted(), [other])
    with pytest.raises(Broken, match="I1: job 1 is pending"):
        witness.finished([detail(job("1", Phase.PENDING, cause=Cause.RETRY))], [])


@pytest.mark.parametrize(
    ("wrote", "recorded", "told"),
    [
        (RAN, attempt(exit_code=3), "1/0#1 is recorded as ended with 3, and wrote 0"),
        (RAN[:1], attempt(), "1/0#1 is recorded as ended with 0, and wrote None"),
        (RAN[:1], LOST, r"job 1 has succeeded with its tasks \[\]"),
    ],
)
def test_ends_that_never_were(wrote: tuple[str, ...], recorded: AttemptDocument, told: str) -> None:
    with pytest.raises(Broken, match=f"I1: {told}"):
        saw(*wrote).finished([detail(job("1"), recorded)], [])


def test_a_limit_that_was_granted_and_forgotten() -> None:
    witness = saw(*RAN)
    witness.extended("1", 4)
    witness.finished([detail(job("1", time_limit_s=4.0), attempt())], [])
    with pytest.raises(Broken, match=r"I1: job 1 was granted 4 s, and its limit is 2\.0 s"):
        witness.finished([detail(job("1", time_limit_s=2.0), attempt())], [])


def test_events_that_are_missed_repeated_or_not_kept() -> None:
    witness = saw(*RAN)
    witness.told(event(1, phase="failed"))
    with pytest.raises(Broken, match="I1: users are told of event 3 after 1"):
        witness.told(event(3))
    with pytest.raises(Broken, match="I1: users are told twice that job 1 is over"):
        witness.told(event(2, phase="succeeded"))
    ended = [detail(job("1"), attempt())]
    for kept in ([], [event(1)], [event(1, subject="2", phase="failed")]):
        with pytest.raises(Broken, match=r"I1: users were told of events that aren't kept: \[1"):
            witness.finished(ended, kept)


def test_tasks_that_run_twice() -> None:
    witness = saw(*RAN[:1])
    with pytest.raises(Broken, match="I2: 1/0#1 is started twice"):
        witness.entries([entry_of(RAN[0])])
    with pytest.raises(Broken, match="I2: 1/0#2 runs on b while one of 1/0#1 does"):
        witness.entries([entry_of(line("twice 1 0 2 b", 3))])


def test_a_late_report_that_counted() -> None:
    witness = saw(*RAN)
    witness.attempts(detail(job("1", Phase.PENDING), LOST))
    with pytest.raises(Broken, match=r"I2: 1/0#1 had ended, .*, and is changed"):
        witness.attempts(detail(job("1"), attempt()))


@pytest.mark.parametrize("word", ["cpu", "memory", "port", "exclusive"])
def test_nodes_that_are_oversubscribed(word: str) -> None:
    with pytest.raises(Broken, match=f"I3: 1/0#1: too little {word} is left on a"):
        saw(line(f"{word} 1 0 1 a", 2))


def test_nodes_that_are_counted_as_oversubscribed() -> None:
    node = NodeDocument(
        name="a",
        backend="agents",
        pool="default",
        ready=True,
        cordoned=False,
        draining=False,
        labels={},
        taints=[],
        capacity={"cpu": 4, "memory": 8},
        used={"cpu": 4, "memory": 2},
        gpus=0,
        gpus_used=0,
        gpu_model="",
        tasks=1,
        load=0,
        message="",
    )
    saw().nodes([node])
    with pytest.raises(Broken, match="I3: a has 4 cpu, and 5 are in use"):
        saw().nodes([replace(node, used={"cpu": 5})])


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ([], "1/0#1 ran on a, and no such attempt is recorded"),
        ([attempt(node="b")], "1/0#1 ran on a, not b"),
        ([attempt(started=None)], "1/0#1 ran, and isn't charged for it"),
        ([attempt(ended=at(2.9))], "1/0#1 ran 1000 ms, and is charged for 900"),
        ([attempt(bound=at(2.5))], "1/0#1: bound, started and ended at"),
        ([attempt(), replace(LOST, fence=2, ended=None)], "1/0#2 is never recorded as ended"),
        (
            [attempt(), replace(LOST, fence=2, bound=at(2.9), started=None)],
            "1/0#2 is bound at .*, before 1/0#1 ended",
        ),
    ],
)
def test_attempts_that_overlap_or_are_missing(recorded: list[AttemptDocument], told: str) -> None:
    ended = job("1", Phase.FAILED)
    with pytest.raises(Broken, match=f"I4: {told}"):
        saw(*RAN).finished([detail(ended, *recorded)], [])


@pytest.mark.parametrize(("pause_s", "tasks", "is_early"), [(0.1, 1, True), (0.3, 1, False), (0.1, 2, False)])
def test_one_that_is_tried_again_at_once(pause_s: float, tasks: int, is_early: bool) -> None:
    ran = (RAN[0], line("end-3 1 0 1 a", 3), line("start 1 0 2 a", 4), line("end-0 1 0 2 a", 5))
    witness = saw(*ran, form=Form(seconds=1.0, tasks=tasks))
    again = attempt(2, bound=at(3 + pause_s), started=at(4), ended=at(5))
    told = "I1: 1/0#2 is bound 100 ms after 1/0#1 failed"
    with pytest.raises(Broken, match=told) if is_early else nullcontext():
        witness.finished([detail(job("1"), attempt(exit_code=3), again)], [])


@pytest.mark.parametrize(("evicted_s", "is_early"), [(2.5, False), (3.05, True)])
def test_one_that_is_evicted_as_it_fails(evicted_s: float, is_early: bool) -> None:
    """An eviction between the two attempts is none of the first."""
    ran = (RAN[0], line("end-3 1 0 1 a", 3), line("start 1 0 2 a", 4), line("end-0 1 0 2 a", 5))
    again = attempt(2, bound=at(3.1), started=at(4), ended=at(5))
    evicted = replace(event(1), kind="job.Evicted", at=at(evicted_s))
    with pytest.raises(Broken, match="100 ms after") if is_early else nullcontext():
        saw(*ran, form=Form(seconds=1.0)).finished([detail(job("1"), attempt(exit_code=3), again)], [evicted])


def test_an_agent_that_counts_as_lost() -> None:
    """It may be, unless nothing goes wrong."""
    lost = replace(event(1, "a"), kind="agent.Lost")
    Witness().told(lost)
    with pytest.raises(Broken, match="I0: agent a counts as lost, and is there"):
        Witness(is_calm=True).told(lost)


def test_a_time_limit_that_came_early() -> None:
    form = Form(seconds=ENDLESS_S, limit_s=2.0)
    recorded = attempt(reason=EndReason.TIME_LIMIT, exit_code=None, signal=15)
    ended = job("1", Phase.TIMED_OUT)
    saw(*RAN[:1], form=form).finished([detail(ended, replace(recorded, ended=at(4)))], [])
    with pytest.raises(Broken, match=r"I4: 1/0#1 had 2\.0 s, and was ended after 1000 ms"):
        saw(*RAN[:1], form=form).finished([detail(ended, recorded)], [])
