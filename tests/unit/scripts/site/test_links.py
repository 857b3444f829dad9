"""Which links and headings a Markdown text has, and which of its links lead nowhere."""

from pathlib import Path

import pytest

from scripts.site.links import Link, anchors_of, broken_links, links_of, relinked


def targets(text: str) -> list[str]:
    return [link.target for link in links_of(text)]


def test_links_with_their_lines() -> None:
    [first, second] = links_of("Read [this](a.md#b).\n\n![A picture](c.svg) of it.\n")
    assert first == Link(1, "this", "a.md#b", is_image=False)
    assert (first.path, first.anchor) == ("a.md", "b")
    assert second == Link(3, "A picture", "c.svg", is_image=True)


@pytest.mark.parametrize(
    "text",
    [
        "`[not](a.md)`",
        "``[not](`a.md)``",
        "```\n[not](a.md)\n```",
        "~~~text\n[not](a.md)\n~~~",
        "    [not](a.md)",
    ],
)
def test_what_stands_in_code_is_no_link(text: str) -> None:
    assert targets(text) == []


def test_several_links_in_a_line() -> None:
    assert targets("[a](1.md) · [`b`](2.md), [c [d]](3.md)") == ["1.md", "2.md", "3.md"]


def test_a_link_may_go_on_in_the_next_line() -> None:
    assert list(links_of("Read\n[all\n  of it](1.md).")) == [Link(2, "all\n  of it", "1.md", is_image=False)]
    assert targets("[one\n\nother](1.md)") == []


def test_text_after_code_is_prose_again() -> None:
    assert targets("```sh\nls\n```\n[a](1.md)\n") == ["1.md"]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("# Why, and when?", "why-and-when"),
        ("## `rota why`: what helps", "rota-why-what-helps"),
        ("### [0001](0001.md): one_board", "0001-one_board"),
        ("## 0.5.0 — 2026-11-16", "050--2026-11-16"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert anchors_of(heading) == {anchor}


def test_equal_headings_are_counted() -> None:
    assert anchors_of("## Jobs\n## Jobs\n") == {"jobs", "jobs-1"}


def test_links_are_replaced_where_they_stand() -> None:
    text = "See [`a`](a.md) and `[b](b.md)`, [c](c.md)."
    assert relinked(text, lambda link: f"<{link.text}>") == "See <`a`> and `[b](b.md)`, <c>."


class TestBroken:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        (tmp_path / "there.md").write_text("# A heading\n")
        return tmp_path / "here.md"

    def test_all_is_well(self, file: Path) -> None:
        file.write_text(
            "# Top\n[a](there.md) [b](there.md#a-heading) [c](#top) [d](https://example.org/x.md)"
        )
        assert list(broken_links(file, file.parent)) == []

    @pytest.mark.parametrize(
        ("link", "complaint"),
        [
            ("gone.md", "gone.md leads nowhere"),
            ("there.md#other", "there.md#other: there is no such heading"),
            ("#other", "#other: there is no such heading"),
            ("../x.md", "../x.md leads out of the repository"),
        ],
    )
    def test_what_is_wrong(self, file: Path, link: str, complaint: str) -> None:
        file.write_text(f"# Top\n[a]({link})\n")
        assert list(broken_links(file, file.parent)) == [f"here.md:2: {complaint}"]
