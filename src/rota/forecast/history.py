"""What a record of past jobs teaches: how long jobs run."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from rota.forecast.run_times import RunTimeBook, RunTimeState
from rota.model.job import JobTemplate
from rota.model.policy import NO_DEFAULTS, Defaults
from rota.model.workload import RecordedEnd, SimJob
from rota.snapshot.defaults import admit


def run_times_of(jobs: Iterable[SimJob], defaults: Defaults = NO_DEFAULTS) -> RunTimeState:
    """Learnt in the order in which the jobs ended. `defaults`: of the policy that will be planned with,
    so that past jobs are known as those that wait are."""
    ran = [one for one in jobs if not one.is_endless and not one.cancelled_waiting]
    book = RunTimeBook()
    admitted: dict[JobTemplate, JobTemplate] = {}
    for _, one in sorted(((_end_ms(one), one) for one in ran), key=itemgetter(0)):
        given = one.job.template
        template = admitted.get(given)
        if template is None:
            template = admitted[given] = admit(given, defaults)
        # Whoever fails or is cancelled leaves its place as well: how long places are held is the question.
        book.ended(template, one.run_ms, completed=one.outcome is not RecordedEnd.TIMED_OUT)
    return book.state


def _end_ms(one: SimJob) -> int:
    """Where nobody knows how long it waited, as if it hadn't."""
    return one.arrival_ms + (one.waited_ms or 0) + one.run_ms
