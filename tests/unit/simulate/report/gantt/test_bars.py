from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rota.model.ids import NodeName
from rota.simulate.report.gantt.bars import Bar, bars_of, lanes_of
from tests.unit.simulate.report.results import job, result


def test_tasks_of_a_job_on_one_node_are_one_bar() -> None:
    bars = bars_of(result(job("gang", on=["n1", "n1", "n2"])))
    assert [(bar.node, bar.tasks) for bar in bars] == [("n1", 2), ("n2", 1)]


periods = st.tuples(st.integers(0, 20), st.integers(1, 10))


@given(st.lists(periods, max_size=12))
def test_bars_of_a_lane_do_not_overlap_and_lanes_are_as_few_as_can_be(some: list[tuple[int, int]]) -> None:
    bars = [
        Bar(job(f"j{number}"), NodeName("n1"), start_ms, start_ms + length_ms, False, 1)
        for number, (start_ms, length_ms) in enumerate(some)
    ]
    lanes = lanes_of(bars)
    assert sorted(bar.job.job for lane in lanes for bar in lane) == sorted(bar.job.job for bar in bars)
    for lane in lanes:
        for before, after in pairwise(lane):
            assert before.end_ms <= after.start_ms
    at_once = max((sum(b.start_ms <= at < b.end_ms for b in bars) for at in range(30)), default=0)
    assert len(lanes) == at_once
