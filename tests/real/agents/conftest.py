"""Fleets of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.agents.fleet import IMPATIENT_S, Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path / "fleet")
    yield made
    made.remove()


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Fleet]:
    """One whose agents are lost soon."""
    made = Fleet(tmp_path / "fleet", IMPATIENT_S)
    yield made
    made.remove()
