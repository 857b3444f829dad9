from __future__ import annotations

import re

from rota.model.ids import NodeName
from rota.simulate.report.axes import moment_axis
from rota.simulate.report.gantt.bars import bars_of
from rota.simulate.report.gantt.overview import COLUMNS, overview_cells, overview_rows
from rota.simulate.report.gantt.tenants import tenants_of
from rota.simulate.result import JobResult
from tests.unit.simulate.report.results import job, ms, result


def paths(*jobs: JobResult, nodes: int = 2, hours: float = COLUMNS) -> dict[str, str]:
    """By style; as wide as an hour is a column unless told."""
    drawn = result(*jobs, nodes=[f"n{number + 1}" for number in range(nodes)])
    rows = overview_rows(drawn.nodes)
    cells = overview_cells(bars_of(drawn), rows, moment_axis(0, ms(hours), 0), tenants_of([drawn]))
    return {style: path for path, style in re.findall(r'd="([^"]*)" class="([^"]*)"', cells)}


def test_a_bar_is_a_run_of_cells() -> None:
    assert paths(job("a", on=["n2"], start=3, hours=2)) == {"t0 shade3": "M3 1h2"}


def test_cells_that_are_partly_idle_are_paler() -> None:
    half = job("a", start=2.5, hours=1.75)
    assert paths(half) == {"t0 shade2": "M2 0h1", "t0 shade3": "M3 0h1", "t0 shade1": "M4 0h1"}


def test_a_cell_has_the_colour_of_who_used_most_of_it() -> None:
    more = job("a", start=0, hours=0.7, project="more")
    less = job("b", start=0.7, hours=0.3, project="less")
    assert paths(more, less) == {"t0 shade3": "M0 0h1"}


def test_many_jobs_at_once_do_not_make_a_node_busier_than_busy() -> None:
    together = [job(f"j{number}", hours=0.3) for number in range(10)]
    assert paths(*together) == {"t0 shade1": "M0 0h1"}


def test_the_last_moment_and_jobs_that_take_no_time() -> None:
    assert paths(job("a", start=COLUMNS - 1, hours=1)) == {"t0 shade3": f"M{COLUMNS - 1} 0h1"}
    assert paths(job("a", hours=0)) == {}


def test_of_very_many_nodes_some_share_a_row() -> None:
    nodes = [NodeName(f"n{number}") for number in range(1000)]
    rows = overview_rows(nodes)
    assert len(rows) == 120
    assert [node for row in rows for node in row.nodes] == nodes
    assert rows[-1].bottom_px == 360
    everywhere = job("a", on=nodes[:8], hours=1)
    assert paths(everywhere, nodes=1000) == {"t0 shade3": "M0 0h1"}
