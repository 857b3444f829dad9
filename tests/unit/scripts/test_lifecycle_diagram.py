from pathlib import Path

import pytest

from scripts.lifecycle_diagram import DOCUMENT, diagram, main

OLD = "# Jobs\n\n```mermaid\nstateDiagram-v2\n    [*] --> GONE\n```\n\nMore text.\n\n```\nGONE stays\n```\n"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "lifecycle.md"
    path.write_text(OLD, encoding="utf-8")
    return path


def test_draws_where_jobs_come_in_change_and_end() -> None:
    lines = [line.strip() for line in diagram().splitlines()]
    assert "[*] --> CREATED" in lines
    assert "CREATED --> CANCELLED: cancel asked, dependency ended" in lines
    assert "PENDING --> SCHEDULED: bound" in lines
    assert "TIMED_OUT --> [*]" in lines


def test_rewrites_the_diagram_and_nothing_else(document: Path) -> None:
    assert main(["--document", str(document)]) == 0
    before, after = OLD.split("```mermaid\nstateDiagram-v2\n    [*] --> GONE\n```")
    assert document.read_text(encoding="utf-8") == before + diagram() + after


def test_check_fails_and_changes_nothing_if_the_diagram_is_old(
    document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--check", "--document", str(document)]) == 1
    assert "isn't current" in capsys.readouterr().err
    assert document.read_text(encoding="utf-8") == OLD


def test_says_so_if_there_is_nowhere_to_draw(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document.write_text("# Jobs\n", encoding="utf-8")
    assert main(["--document", str(document)]) == 1
    assert "there must be one diagram" in capsys.readouterr().err


def test_the_diagram_of_this_project_is_current() -> None:
    assert main(["--check", "--document", str(DOCUMENT)]) == 0
