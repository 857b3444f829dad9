"""What one start of a task is charged for."""

from __future__ import annotations

import pytest

from rota.lifecycle.charging import charge_for
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import GpuRequest, Resources
from rota.model.task import TaskSpec

SMALL = TaskSpec(Resources(cpu_milli=500))
LARGE = TaskSpec(
    Resources(cpu_milli=4000, memory_bytes=2**30),
    overhead=Resources(cpu_milli=250, memory_bytes=2**20),
    gpu=GpuRequest(2),
)
TEMPLATE = JobTemplate((TaskGroup(SMALL, 2), TaskGroup(LARGE)), project="vision", user="ada")


def test_from_start_to_end_for_what_its_rank_asked_for() -> None:
    charge = charge_for(TEMPLATE, 2, 1000, 61_000)
    assert charge is not None
    assert (charge.project, charge.user) == ("vision", "ada")
    assert (charge.start_ms, charge.end_ms, charge.held_ms) == (1000, 61_000, 60_000)
    assert charge.held == Resources(cpu_milli=4250, memory_bytes=2**30 + 2**20)
    assert charge.gpu_milli == 2000


def test_each_rank_is_charged_for_its_own_group() -> None:
    charge = charge_for(TEMPLATE, 1, 1000, 61_000)
    assert charge is not None
    assert (charge.held, charge.gpu_milli) == (Resources(cpu_milli=500), 0)


@pytest.mark.parametrize(
    ("started_ms", "ended_ms"), [(None, 5000), (5000, None), (None, None), (5000, 5000), (5000, 4000)]
)
def test_no_charge_for_what_never_ran_or_has_not_ended(started_ms: int | None, ended_ms: int | None) -> None:
    assert charge_for(TEMPLATE, 0, started_ms, ended_ms) is None
