"""Every scenario file below this folder, as one test each. README.md says how to write one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.running import complaint_about

_FOLDER = Path(__file__).parent
_FILES = sorted(path.relative_to(_FOLDER).as_posix() for path in _FOLDER.glob("*/*.yaml"))


@pytest.mark.parametrize("file", _FILES)
def test_scenario(file: str) -> None:
    complaint = complaint_about(_FOLDER / file, f"tests/scenarios/{file}")
    if complaint:
        pytest.fail(complaint, pytrace=False)
