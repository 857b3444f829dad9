"""A little of `make hostile`, in every test run."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.hostile.campaign import Campaign

INPUTS = 400


@pytest.mark.slow
@pytest.mark.covers("trust-1", "ops-3")
def test_no_input_is_answered_by_an_error_of_the_server() -> None:
    """How long the loop was silent depends on the machine here, so only faults and growth count."""
    with TemporaryDirectory(prefix="rota-hostile-") as folder:
        outcome = Campaign(Path(folder), seed=1).run(INPUTS, seconds=300)
    assert outcome.faults == []
    assert sum(outcome.inputs.values()) == INPUTS
    assert outcome.inputs["rest"] > INPUTS // 2
    assert outcome.grown_bytes < 200 << 20
