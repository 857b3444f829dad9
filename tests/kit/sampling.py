"""Many cases that show the same thing: `make quick` tries some of them, `make test` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], quick: int) -> list[Any]:
    """For `parametrize`: `quick` of the cases, evenly spread, are fast tests; the others are slow."""
    found = list(cases)
    kept = {number * len(found) // quick for number in range(quick)}
    return [
        case if number in kept else pytest.param(case, marks=pytest.mark.slow)
        for number, case in enumerate(found)
    ]
