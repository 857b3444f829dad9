"""What seeds hardly meet, asked for by hand."""

from __future__ import annotations

import pytest

from tests.faults.cluster import Result
from tests.faults.scenario import ENDLESS_MS
from tests.faults.scheduler.scenario import Fault, Form, SchedulerCrash, SlowLedger, Submit, Work
from tests.faults.scheduler.world import SchedulerWorld
from tests.faults.troubles import ClockJump, Scenario


def run(work: list[Work], *faults: Fault) -> Result:
    return SchedulerWorld(Scenario(4, tuple(enumerate(work)), faults)).run()


@pytest.mark.covers("agent-5")
def test_fences_rise_though_the_clock_of_the_next_scheduler_is_behind() -> None:
    evicted: list[Work] = [Submit(0.6, "ci", Form(ENDLESS_MS, cpus=4, priority="low")) for _ in range(3)]
    urgent: list[Work] = [Submit(1.0, "nightly", Form(800, cpus=4, priority="high")) for _ in range(3)]
    result = run([*evicted, *urgent], ClockJump(1.4, -3000, None), SchedulerCrash(1.5, 0, 0.2, False))
    assert result.violation is None
    assert any("waits again" in line for line in result.trace)


@pytest.mark.covers("agent-5")
def test_one_who_records_too_slowly_keeps_no_room_from_others() -> None:
    whole = Form(100, cpus=4)
    work: list[Work] = [
        Submit(at_s, name, whole) for at_s, name in ((0.6, "ci"), (0.8, "nightly")) for _ in range(3)
    ]
    result = run(work, SlowLedger(0.0, "ci", 29.0, 60.0))
    assert result.violation is None
    nodes = [line.split()[6] for line in result.trace if "nightly" in line and "is placed on" in line]
    assert sorted(nodes) == ["n1", "n2", "n3"]
