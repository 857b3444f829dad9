from __future__ import annotations

from rota.simulate.report.gantt.tenants import tenants_legend, tenants_of
from tests.unit.simulate.report.results import job, result


def test_by_project_by_user_or_by_queue() -> None:
    assert tenants_of([result(job("a"), job("b", project="speech"))]).noun == "project"
    assert tenants_of([result(job("a"), job("b", user="bob"))]).noun == "user"
    assert tenants_of([result(job("a"), job("b", queue="long"))]).noun == "queue"
    assert tenants_of([result(job("a"))]).names == ("vision",)
    assert tenants_of([result()]).names == ()


def test_who_uses_most_has_a_colour_and_the_others_share_one() -> None:
    jobs = [job(f"j{number}", project=f"p{number}", hours=10 - number) for number in range(9)]
    tenants = tenants_of([result(*jobs)])
    assert tenants.names == ("p0", "p1", "p2", "p3", "p4", "p5")
    assert [tenants.style(tenants.number_of(job)) for job in jobs[4:8]] == ["t4", "t5", "others", "others"]
    assert "3 others" in tenants_legend(tenants)


def test_colours_are_the_same_for_all_results() -> None:
    first = result(job("a", project="x", hours=1), job("b", project="y", hours=2))
    second = result(job("a", project="x", hours=5))
    assert tenants_of([first, second]).names == ("x", "y")
