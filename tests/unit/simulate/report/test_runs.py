from __future__ import annotations

from rota.simulate.report.runs import legend, runs_of, said_of_each, span_ms
from rota.simulate.result import SimResult
from tests.unit.simulate.report.results import job, ms, result


def labels(*results: SimResult) -> list[str]:
    return [run.label for run in runs_of(results)]


def test_a_run_is_called_by_its_policy() -> None:
    assert labels(result(policy="easy"), result(policy="fifo")) == ["easy", "fifo"]


def test_equal_policies_are_told_apart_by_what_differs() -> None:
    assert labels(result(workload="a"), result(workload="b")) == ["fifo, a", "fifo, b"]
    assert labels(result(seed=1), result(seed=2)) == ["fifo, a day, seed 1", "fifo, a day, seed 2"]
    assert labels(result(), result()) == ["fifo, a day, seed 1 (1)", "fifo, a day, seed 1 (2)"]


def test_a_run_that_is_alone_needs_no_name() -> None:
    (alone,) = runs_of([result()])
    assert legend([alone]) == ""
    assert said_of_each([(alone, "all well")]) == "all well."
    first, second = runs_of([result(policy="a"), result(policy="b")])
    assert said_of_each([(first, "x"), (second, "y")]) == "a: x; b: y."
    assert said_of_each([(second, "y")]) == "b: y.", "the other has nothing to say"


def test_the_span_holds_everything_that_happened() -> None:
    early, late = job("a", arrived=2, start=3, hours=4), job("b", arrived=1, start=None)
    assert span_ms([result(early, samples=[]), result(late, samples=[])]) == (ms(1), ms(7))
    assert span_ms([result()]) == (0, 0)
