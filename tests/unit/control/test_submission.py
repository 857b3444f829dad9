"""Jobs come in that wait for others: each element of an array for each partner, up to a limit."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rota.api.people import Role
from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import BadInput
from rota.control.memory import Memory
from rota.control.submission import MOST_PARTNERS, MOST_WAITS, submit
from rota.intake.submissions import expand, read_submission
from rota.lifecycle.state import JobState
from rota.model.policy import Policy, Recovery, SchedulerPolicy
from rota.model.run import Retry
from tests.operations import MOST_GROWTH, growth

POLICY = Policy()


def take(*jobs: dict[str, object], policy: Policy = POLICY) -> list[JobState]:
    whole = [{"command": ["true"], **job} for job in jobs]
    submission = read_submission(json.dumps({"jobs": whole}).encode(), "p", "ada")
    draft = Draft(Memory(policy), 0, lambda: 0.5)
    taking = submit(draft, submission, expand(submission, 1), {}, Who("ada", Role.SUBMITTER))
    while True:
        try:
            next(taking)
        except StopIteration as done:
            states: list[JobState] = done.value
            return states


def test_every_element_waits_for_every_element() -> None:
    states = take({"name": "first", "array": 3}, {"array": 2, "depends_on": ["first"]})
    assert [[one.job for one in state.depends_on] for state in states[3:]] == [["1.0", "1.1", "1.2"]] * 2


@pytest.mark.covers("time-10", "job-6")
def test_pauses_before_retries_are_the_policys_unless_the_job_has_its_own() -> None:
    policy = Policy((SchedulerPolicy(recovery=Recovery(30_000, 600_000)),))
    states = take({"retry": 2, "array": 2}, {"retry": {"limit": 1, "backoff": "1s"}}, {}, policy=policy)
    assert [state.spec.retry for state in states] == [
        Retry(2, 30_000, 600_000),
        Retry(2, 30_000, 600_000),
        Retry(1, 1000, 600_000),
        Retry(),
    ]
    assert take({"retry": 2})[0].spec.retry == Retry(2)


@pytest.mark.covers("trust-1")
class TestLimits:
    def test_of_one_job(self) -> None:
        take({"name": "first", "array": MOST_PARTNERS}, {"depends_on": ["first"]})
        with pytest.raises(BadInput, match=r"1,001 jobs are too many to wait for"):
            take({"name": "first", "array": MOST_PARTNERS + 1}, {"depends_on": ["first"]})

    def test_of_one_submission(self) -> None:
        first = {"name": "first", "array": MOST_PARTNERS}
        take(first, {"array": MOST_WAITS // MOST_PARTNERS, "depends_on": ["first"]})
        with pytest.raises(BadInput) as caught:
            take(first, {"array": MOST_WAITS // MOST_PARTNERS + 1, "depends_on": ["first"]})
        assert caught.value.field == "jobs[1].depends_on"
        assert "more than 100,000 times" in str(caught.value)

    def test_a_long_array_of_which_each_waits_for_one(self) -> None:
        def taking(count: int) -> Callable[[], object]:
            return lambda: take({"name": "first"}, {"depends_on": ["first"], "array": count})

        assert growth(taking) <= MOST_GROWTH
