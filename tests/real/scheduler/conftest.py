"""Schedulers of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.scheduler.stand import IMPATIENT_S, SchedulerStand


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[SchedulerStand]:
    made = SchedulerStand(tmp_path / "stand")
    made.start()
    yield made
    made.remove()


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[SchedulerStand]:
    """One whose agents are lost soon."""
    made = SchedulerStand(tmp_path / "stand", IMPATIENT_S)
    made.start()
    yield made
    made.remove()
