"""The tutorials: every command in them is run, on a fresh home, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.first_hour.comparing import differences
from tests.first_hour.page import Dialogue, read
from tests.first_hour.pages import FOLDER, PAGES
from tests.first_hour.play import play
from tests.real.conftest import missing
from tests.real.kube.control_plane import Missing


@pytest.mark.covers("first-6")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_is_printed(name: str, tmp_path: Path) -> None:
    parts = read(FOLDER / f"{name}.md")
    try:
        with PAGES[name](tmp_path) as environment:
            printed = play(parts, tmp_path, environment)
    except Missing as error:
        missing(str(error))
    told = list(differences(f"docs/tutorials/{name}.md", parts, printed))
    assert not told, "\n\n".join((*told, f"if that is right: make tutorials PAGES={name}"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_an_hour(name: str) -> None:
    steps = sum(len(part.steps) for part in read(FOLDER / f"{name}.md") if isinstance(part, Dialogue))
    assert 20 <= steps <= 40


def test_every_page_is_played() -> None:
    assert {page.stem for page in FOLDER.glob("*.md")} == {*PAGES, "README"}
