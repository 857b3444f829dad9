"""Which pictures there are, what is in them, and that they stay small."""

from __future__ import annotations

import re

from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import Calendar
from rota.model.ids import NodeName
from rota.simulate.report.gantt import gantt_figures, tenants_of
from rota.simulate.report.runs import runs_of, span_ms
from rota.simulate.result import Sample, SimResult, Stretch
from tests.unit.simulate.report.results import job, ms, result


def figures(one: SimResult) -> list[str]:
    (run,) = runs_of([one])
    return [*gantt_figures(run, tenants_of([one]), span_ms([one]))]


def test_a_small_replay_is_drawn_bar_by_bar() -> None:
    (drawn,) = figures(result(job("a"), job("b", on=["n1", "n2"], start=1), job("never", start=None)))
    assert drawn.count('class="bar') == 3
    assert "All 2 nodes and every task that ran, by project." in drawn
    assert "b (project vision); 1 of 2 tasks on n1; day 1, 01:00, for 1\N{NO-BREAK SPACE}h; arrived" in drawn


def test_an_evicted_task_is_marked() -> None:
    evicted = job("a", stretches=(Stretch(0, NodeName("n1"), 0, ms(1), evicted=True),), preemptions=1)
    (drawn,) = figures(result(evicted))
    assert 'class="bar t0 evicted"' in drawn
    assert "; evicted" in drawn


def test_what_is_announced_is_hatched_on_its_nodes() -> None:
    calendar = Calendar(
        maintenance=(Maintenance("cooling", ms(2), ms(3)), Maintenance("past", ms(-5), ms(-4))),
        reservations=(Reservation("course", ms(5), ms(6), (NodeName("n2"),), ("teach",)),),
    )
    (drawn,) = figures(result(job("a", hours=10), calendar=calendar))
    assert 'x="20%" width="10%" y="0" height="29" class="maintenance"' in drawn, "both nodes"
    assert 'x="50%" width="10%" y="16" height="13" class="reservation"' in drawn, "the second"
    assert "maintenance cooling, day 1, 02:00 to day 1, 03:00" in drawn
    assert drawn.count('class="maintenance"') == 2, "one, and one in the legend"


def test_promised_starts_are_marked_kept_or_not() -> None:
    kept, late = job("kept", start=2, promised_ms=ms(2)), job("late", start=4, promised_ms=ms(3))
    (drawn,) = figures(result(kept, late, job("never", start=None, promised_ms=ms(1))))
    assert 'href="#kept" x="40%"' in drawn
    assert 'href="#broken" x="60%"' in drawn
    assert "Promised starts kept: 1 of 3." in drawn


def test_a_promise_is_kept_by_the_first_start_even_if_it_was_evicted_later() -> None:
    stretches = (
        Stretch(0, NodeName("n1"), ms(1), ms(2), evicted=True),
        Stretch(0, NodeName("n2"), ms(4), ms(5)),
    )
    again = job("again", start=4, promised_ms=ms(1), stretches=stretches, preemptions=1)
    (drawn,) = figures(result(again))
    assert "Promised starts kept: 1 of 1." in drawn
    assert drawn.count('href="#kept"') == 2, "one, and one in the legend"


def test_nodes_that_are_gone_at_the_end_are_shown() -> None:
    (drawn,) = figures(result(job("a", on=["cloud-1"]), nodes=["n1"]))
    assert "All 2 nodes" in drawn
    assert ">cloud-1</text>" in drawn


def test_a_large_replay_is_an_overview_and_a_closer_look() -> None:
    nodes = [f"node-{number:04}" for number in range(1000)]
    jobs = [
        job(
            f"j{number}",
            on=[nodes[number * 7 % 1000], nodes[(number * 7 + 1) % 1000]],
            arrived=number // 100,
            start=number // 100 + number % 3,
            hours=1 + number % 7,
            project=f"p{number % 23}",
            promised_ms=ms(number // 100 + 1) if number % 10 == 0 else None,
        )
        for number in range(10_000)
    ]
    samples = [Sample(ms(hour), 50 - abs(hour - 50), 0, 0, 0) for hour in range(109)]
    overview, closer = figures(result(*jobs, nodes=nodes, samples=samples))
    assert "All 1,000 nodes and everything that ran (20,000 bars)" in overview
    assert "Up to 9 nodes share a row." in overview
    assert "of 1,000, evenly picked from the list" in closer
    assert 10 < closer.count("<title>") <= 1000
    assert len(overview) < 600_000
    assert len(closer) < 600_000


def test_a_closer_look_is_around_the_longest_queue() -> None:
    jobs = [job(f"j{number}", arrived=0, start=number / 10, hours=0.1) for number in range(5000)]
    samples = [Sample(0, 1, 0, 0, 0), Sample(ms(300), 99, 0, 0, 0), Sample(ms(301), 1, 0, 0, 0)]
    _, closer = figures(result(*jobs, nodes=["n1"], samples=samples))
    period = re.search(r"The only node; day (\d+), .* to day (\d+), .*, around the longest queue", closer)
    assert period is not None
    first_day, last_day = map(int, period.groups())
    assert 1 < first_day <= 13 <= last_day < 21
    assert closer.count("<title>") <= 1000


def test_nothing_ran() -> None:
    assert figures(result()) == []
    idle = result(job("never", start=None), policy="idle")
    runs = runs_of([idle, result(job("a"))])
    assert gantt_figures(runs[0], tenants_of([idle]), (0, 1)) == ['<p class="note">idle: nothing ran.</p>']
