"""Words for how a job stands."""

from __future__ import annotations

import pytest

from rota.api.jobs import AttemptDocument, JobDocument
from rota.lifecycle.state import EndReason, Phase
from rota.model.causes import Cause
from rota.views.jobs import end_text, outcome_text, state_text
from tests.unit.cli.documents import CLOCK, a_job, ago, an_attempt, later, over, running


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (a_job(), "waiting"),
        (a_job(promised=later(300)), "waiting, promised for 12:05"),
        (a_job(phase=Phase.CREATED, cause=Cause.HELD), "held, until it is released"),
        (a_job(phase=Phase.CREATED, cause=Cause.DEPENDENCY, waits_for=["16"]), "waiting, waits for 16"),
        (
            a_job(phase=Phase.CREATED, cause=Cause.DEPENDENCY, waits_for=["14", "15", "16"]),
            "waiting, waits for [14-16]",
        ),
        (a_job(cause=Cause.RETRY, not_before=later(20)), "waiting, retry in 20 s"),
        (a_job(cause=Cause.RETRY, not_before=ago(20), attempt=2), "waiting, attempt 2 of it"),
        (a_job(cause=Cause.PREEMPTED, message="by 21"), "waiting, preempted: by 21"),
        (a_job(cause=Cause.NODE_LOST), "waiting, its node was lost"),
        (running(), "running"),
        (over(Phase.SUCCEEDED), "succeeded"),
        (over(Phase.FAILED, cause=Cause.TASK_FAILED, exit_code=3), "failed: exit 3"),
        (over(Phase.FAILED, cause=Cause.SET_ASIDE, message="no such plugin"),
         "failed: Rota couldn't handle it: no such plugin"),
        (over(Phase.FAILED, cause=Cause.START_MISSED), "failed: couldn't start in its period"),
        (over(Phase.CANCELLED, cause=Cause.BY_USER, message="too big"), "cancelled: too big"),
        (over(Phase.TIMED_OUT, cause=Cause.TIME_LIMIT, time_limit_s=60.0),
         "timed out: its limit of 1m passed"),
        (over(Phase.TIMED_OUT, cause=Cause.DEADLINE), "timed out: its deadline passed"),
    ],
)  # fmt: skip
def test_how_it_stands(job: JobDocument, text: str) -> None:
    assert state_text(job, CLOCK) == text


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("cause", [None, *Cause])
def test_there_are_words_for_all(phase: Phase, cause: Cause | None) -> None:
    assert state_text(a_job(phase=phase, cause=cause), CLOCK)


FAILED = over(Phase.FAILED, cause=Cause.TASK_FAILED, exit_code=3, tasks=4)


def test_the_first_that_failed_is_named() -> None:
    attempts = [
        an_attempt(0, exit_code=1, ended=ago(10)),
        an_attempt(2, exit_code=3, ended=ago(20), node="n2"),
    ]
    assert outcome_text(FAILED, attempts, CLOCK) == "failed: exit 3 of rank 2 on n2"


def test_of_one_task_no_rank_is_named() -> None:
    job = over(Phase.FAILED, cause=Cause.TASK_FAILED, exit_code=3)
    assert outcome_text(job, [an_attempt(exit_code=3)], CLOCK) == "failed: exit 3 on n1"


def test_a_message_comes_last() -> None:
    attempt = an_attempt(1, reason=EndReason.NOT_STARTED, message="no such file")
    told = "failed of rank 1 on n1: couldn't be started: no such file"
    assert outcome_text(FAILED, [attempt], CLOCK) == told


@pytest.mark.parametrize("reason", [EndReason.STOPPED, EndReason.LOST])
def test_who_was_stopped_is_not_blamed(reason: EndReason) -> None:
    assert outcome_text(FAILED, [an_attempt(0, reason=reason, exit_code=None)], CLOCK) == "failed: exit 3"


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (an_attempt(), "exit 0"),
        (an_attempt(reason=EndReason.SIGNALLED, signal=9), "killed by SIGKILL"),
        (an_attempt(reason=EndReason.SIGNALLED, signal=200), "killed by signal 200"),
        (an_attempt(reason=EndReason.OUT_OF_MEMORY), "out of memory"),
        (an_attempt(reason=EndReason.STAGING, message="a\nb"), "its files couldn't be put in place: a b"),
    ],
)
def test_how_a_task_ended(attempt: AttemptDocument, text: str) -> None:
    assert end_text(attempt) == text


@pytest.mark.parametrize("reason", EndReason)
def test_there_are_words_for_all_ends(reason: EndReason) -> None:
    assert end_text(an_attempt(reason=reason))
