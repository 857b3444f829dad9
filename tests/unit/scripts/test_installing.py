"""Whoever installs Rota as a service gets what was tried: everything is pinned, with hashes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INSTALLS = re.compile(r"pip\b[^\n&|]*\binstall\b[^\n&|]*|^install [^\n]*", re.MULTILINE)


@pytest.mark.covers("ops-2")
@pytest.mark.parametrize("file", ["docs/deploy.md", "Dockerfile", "scripts/setup.sh"])
def test_nothing_is_installed_that_is_not_pinned(file: str) -> None:
    found = [one for one in INSTALLS.findall((ROOT / file).read_text()) if "uninstall" not in one]
    assert any("--require-hashes" in one for one in found)
    for one in found:
        # Rota itself: what it needs is there by then.
        assert "--require-hashes" in one or "--no-deps" in one or one.endswith('"$@"; }'), one


@pytest.mark.parametrize("file", sorted(path.name for path in ROOT.glob("constraints*.txt")))
def test_every_pin_has_its_hashes_and_no_address(file: str) -> None:
    text = (ROOT / file).read_text()
    pins = re.split(r"\n(?=[a-z0-9])", text.strip())
    assert len(pins) > 10
    for pin in pins:
        if "==" in pin:
            assert "--hash=sha256:" in pin, pin.splitlines()[0]
    assert "://" not in text
