from __future__ import annotations

from rota.simulate.report.runs import runs_of
from rota.simulate.report.waits import waits_figures
from tests.unit.simulate.report.results import job, result


def test_jobs_that_never_started_count_and_those_cancelled_do_not() -> None:
    jobs = [
        job("at-once"),
        job("later", start=2),
        job("never", start=None),
        job("cancelled", start=None, cancelled=True),
    ]
    (drawn,) = waits_figures(runs_of([result(*jobs)]))
    assert "33.3\N{NO-BREAK SPACE}% within a minute, 1 job never." in drawn
    assert 'd="M0 146.67H' in drawn, "a third of the way up"


def test_without_a_start_there_is_no_picture() -> None:
    assert waits_figures(runs_of([result()])) == []
    assert waits_figures(runs_of([result(job("never", start=None))])) == []
