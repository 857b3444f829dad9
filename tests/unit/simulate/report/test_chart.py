from __future__ import annotations

from rota.simulate.report.axes import count_axis
from rota.simulate.report.chart import Frame, band, chart, line, rule, steps

FRAME = Frame(count_axis(10), count_axis(10), height=100)


def test_steps_hold_until_the_next_point_and_level_stretches_are_one() -> None:
    drawn = steps(FRAME, [(0, 0), (2, 5), (3, 5), (4, 5), (12, 10)], "p0")
    assert 'd="M0 100H200V50H1000V0"' in drawn


def test_lines_and_bands() -> None:
    assert 'd="M0 100L500 50"' in line(FRAME, [(0, 0), (5, 5)], "p0")
    assert 'd="M0 50H500V100H0Z"' in band(FRAME, [(0, 5), (5, 5)], [(0, 0), (5, 0)], "p0")


def test_nothing_to_draw() -> None:
    assert 'd=""' in line(FRAME, [], "p0")


def test_a_chart_says_what_it_shows_to_those_who_do_not_see_it() -> None:
    drawn = chart(FRAME, 'waits of "a<b"', [line(FRAME, [(0, 0), (1, 1)], "p0")], [rule(FRAME.x, 5, 100)])
    assert 'role="img" aria-label="waits of &quot;a&lt;b&quot;"' in drawn
    assert 'x1="50%"' in drawn
