import pytest

import rota
from scripts.release_notes import main, notes

CHANGELOG = "# Changelog\n\n## 0.2.0 — 2026-02-01\n\nTwo.\n\n- More.\n\n## 0.1.0 — 2026-01-01\n\nOne.\n"


def test_the_section_of_a_version() -> None:
    assert notes(CHANGELOG, "0.2.0") == "Two.\n\n- More.\n"
    assert notes(CHANGELOG, "0.1.0") == "One.\n"


def test_a_version_without_a_section() -> None:
    with pytest.raises(ValueError, match=r"no section `## 0\.3\.0 — DATE`"):
        notes(CHANGELOG, "0.3.0")


def test_a_tag_of_another_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["v99.0"]) == 1
    assert capsys.readouterr().err == f"the tag says 99.0, and rota.__version__ {rota.__version__}\n"
