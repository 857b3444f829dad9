"""Tables of documents, from results of benchmarks."""

import json
from pathlib import Path

import pytest

from bench.tables import HIGHLIGHTS, filled, highlights, number, table


@pytest.fixture
def results(tmp_path: Path) -> Path:
    header = {"versions": {"rota": "0.6.0"}, "python": "3.11.7", "cores": 2}
    row = {
        "case": "some jobs",
        "metric": "tasks/s",
        "higher_is_better": True,
        "ours": 1019.4,
        "peer": 12.345,
        "peer_name": "another",
        "goal": "≥ 1",
        "ratio": 82.58,
    }
    (tmp_path / "server.json").write_text(json.dumps([header, row]))
    return tmp_path


def test_a_row_for_each_measurement(results: Path) -> None:
    lines = table(("server",), results).splitlines()
    assert lines[2] == "| some jobs | tasks/s | 1,019 | 12.35 (another) | 82.58 | ≥ 1 |"
    assert lines[-1].startswith("Measured with Rota 0.6.0 and Python 3.11.7 on 2 cores: [server.json]")


@pytest.mark.parametrize(("value", "text"), [(0.16083, "0.1608"), (99.9999, "100"), (1234.5, "1,234")])
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_a_table_goes_where_it_is_named() -> None:
    text = "Before.\n<!-- table: one -->\nold\n<!-- /table -->\nAfter.\n"
    made = filled(text, {"one": lambda: "new\n"})
    assert made == "Before.\n<!-- table: one -->\nnew\n<!-- /table -->\nAfter.\n"
    assert filled(made, {"one": lambda: "new\n"}) == made


def test_six_rows_for_the_readme() -> None:
    assert len(HIGHLIGHTS) == 6
    assert len(highlights().splitlines()) == 2 + 6


def test_a_highlight_that_nobody_measured(results: Path) -> None:
    with pytest.raises(LookupError, match=r"server\.json has no row for"):
        highlights(results)
