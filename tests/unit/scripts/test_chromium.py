"""scripts/chromium.sh: which browser is taken, and what is said where there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "chromium.sh"


def found(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", SCRIPT], env={"PATH": str(path), **environment}, capture_output=True, text=True
    )


def put(folder: Path, name: str) -> str:
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(program)


def test_the_first_that_is_there(tmp_path: Path) -> None:
    chrome = put(tmp_path, "google-chrome")
    assert found(tmp_path).stdout.strip() == chrome
    chromium = put(tmp_path, "chromium")
    assert found(tmp_path).stdout.strip() == chromium


def test_one_that_is_named_goes_before_all(tmp_path: Path) -> None:
    put(tmp_path, "chromium")
    named = put(tmp_path, "mine")
    assert found(tmp_path, CHROMIUM=named).stdout.strip() == named


def test_what_is_missing_is_named_and_nothing_is_installed(tmp_path: Path) -> None:
    done = found(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip().splitlines()[-1].startswith("Chromium is missing: apt-get install chromium")
