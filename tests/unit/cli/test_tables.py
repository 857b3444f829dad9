"""Tables fit 80 columns without breaking words or cutting ids; in a pipe nothing is cut at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.cli.tables import Table, facts, lines_of, new_table
from rota.cli.text import Text, width_of

pytestmark = pytest.mark.covers("first-6")

LONG = "it can't hold tasks to limits of memory, because its kernel has no cgroups"


def shown(table: Table, width: int | None = 80) -> list[str]:
    return table.lines(width, colours=False)


def jobs(**settings: object) -> Table:
    table = new_table("job", "name", "note", "more", **settings)  # type: ignore[arg-type]
    table.add_row("123456.78", "a-name-that-somebody-made-up", LONG, "also that")
    table.add_row("7", "b", "", "x")
    return table


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    table = new_table("job", "tasks", right=("tasks",))
    table.add_row("a", "1")
    table.add_row("bcd", "1000")
    assert shown(table) == ["JOB  TASKS", "a        1", "bcd   1000"]


def test_long_texts_are_wrapped_between_words() -> None:
    lines = shown(jobs())
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    assert set(LONG.split()) <= set(words)


def test_in_one_line_they_are_cut() -> None:
    lines = shown(jobs(in_one_line=True))
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert "…" in lines[1]


@pytest.mark.parametrize("width", [80, 60, 40, 30])
def test_ids_are_never_cut(width: int) -> None:
    for table in (jobs(), jobs(in_one_line=True, dropped=("more", "note"))):
        assert any(line.startswith("123456.78") for line in shown(table, width))


def test_columns_go_in_their_order_where_there_is_no_room() -> None:
    table = jobs(dropped=("more", "note"))
    assert shown(table, 80)[0].split() == ["JOB", "NAME", "NOTE", "MORE"]
    assert shown(table, 38)[0].split() == ["JOB", "NAME"]


def test_in_a_pipe_nothing_is_cut_wrapped_or_left_out() -> None:
    lines = shown(jobs(in_one_line=True, dropped=("more",)), None)
    assert lines[1] == f"123456.78  a-name-that-somebody-made-up  {LONG}  also that"


def test_colours_take_no_room() -> None:
    table = new_table("job", "state")
    table.add_row("1", Text("failed", "red"))
    table.add_row("2", "x")
    assert table.lines(80, colours=True)[1:] == ["1    \x1b[31mfailed\x1b[0m", "2    x"]


def test_facts_leave_out_what_is_empty() -> None:
    assert shown(facts({"queue": "batch", "labels": "", "submitted": "now"})) == [
        "queue      batch",
        "submitted  now",
    ]


def test_a_paragraph_is_wrapped_on_a_terminal_alone() -> None:
    assert len(lines_of(LONG, 40, colours=False)) == 2
    assert lines_of(LONG, None, colours=False) == [LONG]


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[0-9]{1,7}(\.[0-9]{1,5})?", fullmatch=True),
            st.text("abc -", max_size=60),
            st.text("de 語", max_size=90),
        ),
        max_size=5,
    ),
    st.integers(40, 120),
)
def test_whatever_is_in_it_it_fits(rows: list[tuple[str, str, str]], width: int) -> None:
    table = new_table("job", "name", "note", dropped=("note",))
    for row in rows:
        table.add_row(*row)
    lines = shown(table, width)
    assert max(map(width_of, lines)) <= width
    for job, *_ in rows:
        assert any(line.split(" ")[0] == job for line in lines)
