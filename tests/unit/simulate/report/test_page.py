"""The page as a whole: one file, safe whatever the names, for any result."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import Calendar
from rota.model.ids import JobId, NodeName
from rota.model.plan import PluginFault
from rota.simulate.report import write_report
from rota.simulate.result import SimResult
from tests.unit.simulate.report.results import estimate, job, ms, result

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "section", "nav", "div", "span"),
    *("h1", "h2", "h3", "p", "a", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"),
    *("figure", "figcaption", "svg", "g", "path", "rect", "line", "circle", "text", "use", "pattern"),
}
EVIL = "</title></style></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload='x\u202e"


class Reader(HTMLParser):
    """Collects what matters for safety."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(folder: Path, *results: SimResult) -> Reader:
    reader = Reader()
    reader.feed(write_report(results, folder).read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    return reader


def evil_result(policy: str) -> SimResult:
    calendar = Calendar(
        (Maintenance(EVIL, ms(2), ms(3), (NodeName(EVIL),)),),
        (Reservation(EVIL, ms(2), ms(3), (NodeName(EVIL),), (EVIL,)),),
    )
    jobs = [
        job(
            f"{EVIL}{number}",
            on=[EVIL],
            start=number,
            user=f"{number % 2}{EVIL}",
            project=f"{number % 3}{EVIL}",
            queue=f"{number % 4}{EVIL}",
            estimates=(estimate(number, number + 1, latest=number + 2),),
            promised_ms=ms(number),
        )
        for number in range(9)
    ]
    faults = (PluginFault(EVIL, EVIL, EVIL, JobId(EVIL)),)
    return result(*jobs, policy=policy, nodes=[EVIL, "n2"], workload=EVIL, calendar=calendar, faults=faults)


def test_names_never_become_markup(tmp_path: Path) -> None:
    page = read(tmp_path, evil_result(EVIL), evil_result("p" * 500))
    assert page.tags <= ALLOWED
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert all(value.startswith("#") for name, value in page.attributes if name in ("href", "src"))
    assert "\u202e" not in page.text
    assert "<script>alert(1)" in page.text, "it is there to be read"


def test_the_page_is_one_file_that_loads_and_runs_nothing(tmp_path: Path) -> None:
    page = write_report([result(job("a"))], tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["index.html"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert not re.search(r"https?:|<script|@import|url\((?!#)", text)
    assert "default-src &#x27;none&#x27;" in text


def test_the_folder_is_made_and_an_old_page_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "report"
    assert write_report([result(job("a"), workload="an old one")], folder) == folder / "index.html"
    assert "an old one" not in write_report([result(job("a"))], folder).read_text(encoding="utf-8")


def test_the_same_results_give_the_same_page(tmp_path: Path) -> None:
    pages = [write_report([evil_result("p")], tmp_path / name).read_bytes() for name in "ab"]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "empty",
    [
        result(),
        result(nodes=[]),
        result(job("never", start=None)),
        result(job("no-time", hours=0)),
        result(job("a"), nodes=[], samples=[]),
    ],
)
def test_results_with_little_in_them(tmp_path: Path, empty: SimResult) -> None:
    assert "Simulation of a day" in read(tmp_path, empty).text
    assert "fifo" in read(tmp_path, empty, result(job("a"), policy="other")).text


def test_an_empty_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one result"):
        write_report([], tmp_path)


def test_times_are_dates_where_the_workload_has_them(tmp_path: Path) -> None:
    dated = result(job("a", arrived=1, start=1), epoch_ms=1_714_564_800_000)
    assert "arrivals from 2024-05-01 13:00 UTC" in read(tmp_path, dated).text
    assert "arrivals from day 1, 01:00" in read(tmp_path, result(job("a", arrived=1, start=1))).text


def test_what_was_simulated_is_said_once_where_it_is_the_same(tmp_path: Path) -> None:
    fact = "1 job, 2 nodes with 8 CPUs"
    assert read(tmp_path, result(job("a"), policy="x"), result(job("a"), policy="y")).text.count(fact) == 1
    different = read(tmp_path, result(job("a"), policy="x"), result(job("a"), policy="y", seed=2)).text
    assert f"x: {fact}" in different


def test_faults_of_plugins_are_not_kept_secret(tmp_path: Path) -> None:
    faults = (PluginFault("spread", "score", "ZeroDivisionError", JobId("a")),)
    text = read(tmp_path, result(job("a"), faults=faults)).text
    assert "plugin spread failed in score: ZeroDivisionError" in text
