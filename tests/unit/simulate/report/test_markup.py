"""Whatever a name holds, it stays text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.simulate.report.markup import Markup, element, joined, number_text, short


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


def test_an_element_with_attributes_and_children() -> None:
    inner = element("rect", x=1.5, width="10%", class_="bar", height=None)
    assert inner == '<rect x="1.5" width="10%" class="bar"/>'
    assert element("svg", inner, aria_label="a & b") == f'<svg aria-label="a &amp; b">{inner}</svg>'


@given(st.text())
def test_text_is_never_read_as_markup(name: str) -> None:
    reader = read(element("text", name, title=name))
    assert [tag for tag, _ in reader.tags] == ["text"]
    assert reader.text == reader.tags[0][1]["title"] or not name


def test_what_was_made_here_is_not_escaped_again() -> None:
    assert joined(("<", element("b", "x"))) == "&lt;<b>x</b>"
    assert isinstance(joined(("a", "b")), Markup)


def test_marks_that_would_turn_the_writing_around_are_replaced() -> None:
    assert element("b", "a\u202eb\x00c") == "<b>a\ufffdb\ufffdc</b>"


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.126, "0.13"), (-0.001, "0"), (100, "100"), (-2.5, "-2.5")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number_text(value) == text


def test_long_and_empty_names() -> None:
    assert short("x" * 100) == "x" * 39 + "…"
    assert short(" ") == "(no name)"
