from __future__ import annotations

import re

from rota.simulate.report.runs import runs_of
from rota.simulate.report.table import comparison
from rota.simulate.result import SimResult
from tests.unit.simulate.report.results import job, result


def rows(*results: SimResult) -> dict[str, list[str]]:
    """The cells by label; the best in asterisks."""
    found = {}
    table = comparison(runs_of(results)).replace("\N{NO-BREAK SPACE}", " ")
    for label, cells in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table):
        marked = re.findall(r'<td( class="best")?[^>]*>(.*?)</td>', cells)
        found[label] = [f"*{text}*" if best else text for best, text in marked]
    return found


def test_the_best_of_a_row_is_marked() -> None:
    slow = result(job("a", start=2), policy="slow")
    fast = result(job("a", start=1), policy="fast")
    table = rows(slow, fast)
    assert table["jobs started"] == ["1", "1"], "equal ones aren't marked"
    assert table["mean wait"] == ["2 h", "*1 h*"]
    assert table["mean bounded slowdown"] == ["3.00", "*2.00*"]


def test_what_reads_the_same_is_equally_good() -> None:
    one, other, third = (job("a", start=hours) for hours in (1, 1.0001, 2))
    assert rows(result(one), result(other), result(third))["mean wait"] == ["*1 h*", "*1 h*", "2 h"]


def test_rows_without_anything_to_measure_are_left_out() -> None:
    table = rows(result())
    assert set(table) == {"jobs started", "preemptions"}
    assert "GPU allocation" not in rows(result(job("a")))


def test_nothing_to_measure_for_one_of_two() -> None:
    promised = result(job("a", promised_ms=0), policy="promising")
    assert rows(promised, result(job("a")))["promises kept"] == ["100.0 %", "–"]
