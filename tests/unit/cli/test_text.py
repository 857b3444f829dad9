"""Text with styles: broken between words, cut, coloured."""

from __future__ import annotations

import pytest

from rota.cli.text import BAD, GOOD, Text, joined, width_of

pytestmark = pytest.mark.covers("first-6")


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a few words", ["a few", "words"]),
        ("one\ntwo three four", ["one", "two", "three", "four"]),
        ("averylongword b", ["avery…", "b"]),
        ("a  b   c     d", ["a  b", "c", "d"]),
    ],
)
def test_lines_are_broken_between_words(text: str, lines: list[str]) -> None:
    assert [line.rstrip() for line in plain(Text(text).wrapped(6))] == lines


def test_styles_stay_where_they_were() -> None:
    text = Text("red ", BAD).append("green words", GOOD)
    assert [line.shown(colours=True) for line in text.wrapped(9)] == [
        "\x1b[31mred \x1b[0m\x1b[32mgreen\x1b[0m",
        "\x1b[32mwords\x1b[0m",
    ]
    assert text.shown(colours=False) == "red green words"


def test_what_is_cut_ends_with_a_mark_of_its_style() -> None:
    assert Text("too long", BAD).cut(4).shown(colours=True) == "\x1b[31mtoo\x1b[0m\x1b[31m…\x1b[0m"
    assert Text("fits").cut(4).plain == "fits"


def test_wide_letters_count_twice() -> None:
    assert width_of("日本") == 4
    assert Text("日本語").cut(5).plain == "日本…"
    assert width_of("é") == width_of("e\u0301") == 1


def test_texts_below_each_other() -> None:
    assert joined([Text("a", BAD), Text("b")]).plain == "a\nb"
